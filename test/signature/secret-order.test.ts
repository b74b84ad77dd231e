import { backend } from "#crypto";
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { authenticate } from "../../src/signature/authenticate.js";
import { readSignedHeaders } from "../../src/delivery/header-values.js";
import { keysOf, type Secrets } from "../../src/signature/secrets.js";
import { delivery, eventDelivery } from "../support/deliveries.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const SECRETS = ["whsec_first", "whsec_second", "whsec_third", "whsec_fourth", "whsec_fifth"];
const FORGER = "whsec_of_a_forger";
const SETTINGS = { seed: 20_260_708, numRuns: 100 };

/** A receiver, and the number of MACs that each delivery to it takes. */
function countingReceiver(secret: Parameters<typeof recordingReceiver>[0]) {
  const verify = vi.spyOn(backend, "verify");
  const { receive, reports, handled } = recordingReceiver(secret);
  let ids = 0;
  const deliver = async (signer: string, make = delivery) => {
    const request = await make({ id: `d-${ids++}`, secret: signer });
    verify.mockClear();
    const { outcome } = await receive(request);
    const keys = verify.mock.calls.map(([key]) => key);
    expect(new Set(keys).size, "no secret is tried twice").toBe(keys.length);
    return { outcome, secretIndex: reports.at(-1)?.secretIndex, macs: keys.length };
  };
  return { deliver, handled };
}

const handledBy = (secretIndex: number, macs: number) => ({
  outcome: "handled",
  secretIndex,
  macs,
});
const refusedAfter = (macs: number) => ({
  outcome: "signature_mismatch",
  secretIndex: undefined,
  macs,
});

describe.each([1, 2, 5])("the order of %i secrets", (count) => {
  const secrets = SECRETS.slice(0, count);

  test.each(secrets.map((secret, index) => [index, secret] as const))(
    `of ${count} secrets, the secret at index %i takes one MAC from its second delivery on, and keeps its index`,
    async (index, secret) => {
      const { deliver } = countingReceiver({ secret: secrets });
      expect(await deliver(secret)).toEqual(handledBy(index, index + 1));
      for (let n = 0; n < 5; n++) expect(await deliver(secret)).toEqual(handledBy(index, 1));
    },
  );

  test(`of ${count} secrets, a mismatch tries each, whichever matched last, and changes no order`, async () => {
    const { deliver, handled } = countingReceiver({ secret: secrets });
    expect(await deliver(FORGER)).toEqual(refusedAfter(count));
    for (const [index, secret] of secrets.entries()) {
      await deliver(secret);
      expect(await deliver(FORGER)).toEqual(refusedAfter(count));
      expect(await deliver(secret)).toEqual(handledBy(index, 1));
    }
    expect(handled).toHaveLength(2 * count);
  });
});

test("two secrets that sign in turn take two MACs each, at any position", async () => {
  const { deliver } = countingReceiver({ secret: SECRETS });
  await deliver("whsec_fifth");
  await deliver("whsec_third");
  for (let n = 0; n < 3; n++) {
    expect(await deliver("whsec_fifth")).toEqual(handledBy(4, 2));
    expect(await deliver("whsec_third")).toEqual(handledBy(2, 2));
  }
});

test("a secret that the list contains twice has its first index, whichever matched before", async () => {
  const { deliver } = countingReceiver({ secret: ["whsec_a", "whsec_b", "whsec_c", "whsec_b"] });
  for (const signer of ["whsec_b", "whsec_c", "whsec_b", "whsec_a", "whsec_b", "whsec_b"]) {
    const secretIndex = { whsec_a: 0, whsec_b: 1, whsec_c: 2 }[signer];
    expect(await deliver(signer)).toMatchObject({ outcome: "handled", secretIndex });
  }
  expect(await deliver(FORGER)).toEqual(refusedAfter(4));
});

test("two receivers with the same list keep separate orders", async () => {
  const one = countingReceiver({ secret: SECRETS });
  const other = countingReceiver({ secret: SECRETS });
  await one.deliver("whsec_fifth");
  expect(await other.deliver("whsec_first")).toEqual(handledBy(0, 1));
  expect(await one.deliver("whsec_fifth")).toEqual(handledBy(4, 1));
  expect(await other.deliver("whsec_second")).toEqual(handledBy(1, 2));
});

test("each documented webhook type keeps its own order, and undocumented types share one", async () => {
  const secret = { new_alarm: SECRETS.slice(0, 3), delete_my_data_event: SECRETS.slice(3) };
  const { deliver } = countingReceiver({ secret });
  const event: typeof delivery = (overrides) => eventDelivery("DATA_DELETED", overrides);
  const unknown: typeof delivery = (overrides) =>
    delivery({ ...overrides, type: "added_later", body: '{"a":1}' });

  expect(await deliver("whsec_third")).toEqual(handledBy(2, 3));
  expect(await deliver("whsec_fourth", event)).toEqual(handledBy(0, 1));
  expect(await deliver("whsec_fifth", event)).toEqual(handledBy(1, 2));
  expect(await deliver("whsec_third")).toEqual(handledBy(2, 1));
  expect(await deliver("whsec_fifth", event)).toEqual(handledBy(1, 1));
  const unrecognized = { outcome: "unrecognized", secretIndex: 0 };
  expect(await deliver("whsec_fourth", unknown)).toEqual({ ...unrecognized, macs: 4 });
  expect(await deliver("whsec_fourth", unknown)).toEqual({ ...unrecognized, macs: 1 });
  // The order of the undocumented types has changed; the orders of both documented types have not.
  expect(await deliver("whsec_fifth", event)).toEqual(handledBy(1, 1));
  expect(await deliver("whsec_first", event)).toEqual(refusedAfter(2));
  expect(await deliver("whsec_fourth")).toEqual(refusedAfter(3));
});

test("the list stays the same object if its first secret matches, and any other match makes a new list", async () => {
  const matchAs = async (secret: string, secrets: Secrets) => {
    const { headers, body } = rawDelivery({ secret });
    const signed = readSignedHeaders(headers);
    if (signed === undefined) throw new Error("not signed");
    await authenticate({ secretsFor: () => secrets }, signed, Buffer.from(body));
  };
  const order = keysOf(SECRETS);
  const secrets: Secrets = { order };
  const first = order[0]?.key;
  await matchAs("whsec_first", secrets);
  await matchAs(FORGER, secrets);
  expect(secrets.order).toBe(order);
  await matchAs("whsec_second", secrets);
  expect(secrets.order).not.toBe(order);
  expect(order[0]?.key).toBe(first);
  expect(secrets.order.map(({ index }) => index)).toEqual([1, 0, 2, 3, 4]);
});

test("as a property, the order is that of the last matches, and the index that of the list", async () => {
  const signers = fc.integer({ min: 1, max: SECRETS.length }).chain((count) =>
    fc.record({
      count: fc.constant(count),
      row: fc.array(fc.integer({ min: -1, max: count - 1 }), { minLength: 1, maxLength: 25 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(signers, async ({ count, row }) => {
      const { deliver } = countingReceiver({ secret: SECRETS.slice(0, count) });
      let order = Array.from({ length: count }, (_, index) => index);
      for (const index of row) {
        const expected =
          index === -1 ? refusedAfter(count) : handledBy(index, order.indexOf(index) + 1);
        expect(await deliver(SECRETS[index] ?? FORGER)).toEqual(expected);
        if (index !== -1) order = [index, ...order.filter((other) => other !== index)];
      }
    }),
    SETTINGS,
  );
});
