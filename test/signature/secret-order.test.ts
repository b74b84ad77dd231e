import { backend } from "#crypto";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { authenticate } from "../../src/signature/authenticate.js";
import { readSignedHeaders } from "../../src/delivery/header-values.js";
import { keysOf, type Secrets } from "../../src/signature/secrets.js";
import { deferred } from "../support/deferred.js";
import { delivery, eventDelivery } from "../support/deliveries.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const SECRETS = ["whsec_first", "whsec_second", "whsec_third", "whsec_fourth", "whsec_fifth"];
const FORGER = "whsec_of_a_forger";
const SETTINGS = { seed: 20_260_708, numRuns: 100 };

/** A receiver, and the number of MACs that each delivery to it takes. */
function countingReceiver(secret: Parameters<typeof recordingReceiver>[0]) {
  const verify = vi.spyOn(backend, "verify");
  const { receive, reports } = recordingReceiver(secret);
  let ids = 0;
  return async (signer: string, make = delivery) => {
    const request = await make({ id: `d-${ids++}`, secret: signer });
    verify.mockClear();
    const { outcome } = await receive(request);
    const keys = verify.mock.calls.map(([key]) => key);
    expect(new Set(keys).size, "no secret is tried twice").toBe(keys.length);
    return { outcome, secretIndex: reports.at(-1)?.secretIndex, macs: keys.length };
  };
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

test("the secret that matched last takes one MAC, keeps its index, and a mismatch tries all secrets", async () => {
  const deliver = countingReceiver({ secret: SECRETS });
  expect(await deliver("whsec_fifth")).toEqual(handledBy(4, 5));
  expect(await deliver(FORGER)).toEqual(refusedAfter(5));
  expect(await deliver("whsec_fifth")).toEqual(handledBy(4, 1));
  expect(await deliver("whsec_third")).toEqual(handledBy(2, 4));
  expect(await deliver("whsec_fifth")).toEqual(handledBy(4, 2));
});

test("a secret that the list contains twice has its first index, whichever matched before", async () => {
  const deliver = countingReceiver({ secret: ["whsec_a", "whsec_b", "whsec_c", "whsec_b"] });
  for (const signer of ["whsec_b", "whsec_c", "whsec_b", "whsec_a", "whsec_b", "whsec_b"]) {
    const secretIndex = { whsec_a: 0, whsec_b: 1, whsec_c: 2 }[signer];
    expect(await deliver(signer)).toMatchObject({ outcome: "handled", secretIndex });
  }
  expect(await deliver(FORGER)).toEqual(refusedAfter(4));
});

test("two receivers with the same list keep separate orders", async () => {
  const one = countingReceiver({ secret: SECRETS });
  const other = countingReceiver({ secret: SECRETS });
  await one("whsec_fifth");
  expect(await other("whsec_first")).toEqual(handledBy(0, 1));
  expect(await one("whsec_fifth")).toEqual(handledBy(4, 1));
});

test("each documented webhook type keeps its own order, and undocumented types share one", async () => {
  const secret = { new_alarm: SECRETS.slice(0, 3), delete_my_data_event: SECRETS.slice(3) };
  const deliver = countingReceiver({ secret });
  const event: typeof delivery = (overrides) => eventDelivery("DATA_DELETED", overrides);
  const unknown: typeof delivery = (overrides) =>
    delivery({ ...overrides, type: "added_later", body: '{"a":1}' });

  expect(await deliver("whsec_third")).toEqual(handledBy(2, 3));
  expect(await deliver("whsec_fourth", event)).toEqual(handledBy(0, 1));
  expect(await deliver("whsec_fifth", event)).toEqual(handledBy(1, 2));
  expect(await deliver("whsec_third")).toEqual(handledBy(2, 1));
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
      const deliver = countingReceiver({ secret: SECRETS.slice(0, count) });
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

// A MAC of WebCrypto is a promise. While one delivery waits for it, another one may move its own
// secret to the front of the list that both use.
type Verify = typeof backend.verify;
const realVerify = backend.verify.bind(backend);

test.each([...SECRETS, FORGER])(
  "a delivery signed by %s misses no secret if others move to the front while it waits for a MAC",
  async (signer) => {
    const [waiting, goOn] = [deferred(), deferred()];
    let tried = 0;
    const verify: Verify = async (...call) => {
      if (call[1].id === "d-0" && tried++ === 0) {
        waiting.resolve();
        await goOn.promise;
      }
      return realVerify(...call);
    };
    const request = await delivery({ id: "d-0", secret: signer });
    // One after the other, they reverse the list.
    const others = await Promise.all(
      SECRETS.map((secret, at) => delivery({ id: `${at}`, secret })),
    );
    vi.spyOn(backend, "verify").mockImplementation(verify);
    const { receive, reports } = recordingReceiver({ secret: SECRETS });
    const answer = receive(request);
    await waiting.promise;
    for (const other of others) expect((await receive(other)).outcome).toBe("handled");
    goOn.resolve();
    await answer;
    const index = SECRETS.indexOf(signer);
    const secretIndex = index === -1 ? undefined : index;
    expect(reports.at(-1)?.secretIndex).toBe(secretIndex);
    expect(tried).toBe((secretIndex ?? SECRETS.length - 1) + 1);
  },
);

test("as a property, each delivery is checked with all secrets in any order of the MACs", async () => {
  const signers = fc.array(fc.constantFrom(...SECRETS, FORGER), { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), signers, async (scheduler, row) => {
      const requests = await Promise.all(
        row.map((secret, at) => delivery({ id: `d-${at}`, secret })),
      );
      const scheduled = scheduler.scheduleFunction(async (...call: Parameters<Verify>) =>
        realVerify(...call),
      );
      const verify = vi.spyOn(backend, "verify").mockImplementation(scheduled);
      const { receive, reports } = recordingReceiver({ secret: SECRETS });
      await scheduler.waitFor(Promise.all(requests.map(receive)));
      for (const [at, signer] of row.entries()) {
        const index = SECRETS.indexOf(signer);
        const keys = verify.mock.calls.flatMap(([key, { id }]) => (id === `d-${at}` ? [key] : []));
        expect(new Set(keys).size, "no secret is tried twice").toBe(keys.length);
        if (index === -1) expect(keys, "every secret is tried").toHaveLength(SECRETS.length);
        else {
          expect(reports.find(({ id }) => id === `d-${at}`)).toMatchObject({
            outcome: "handled",
            secretIndex: index,
          });
        }
      }
      vi.restoreAllMocks();
      // Afterwards the list is complete: each secret is still there, with its index.
      for (const [index, secret] of SECRETS.entries()) {
        await receive(await delivery({ id: `after-${index}`, secret }));
        expect(reports.at(-1)).toMatchObject({ outcome: "handled", secretIndex: index });
      }
    }),
    SETTINGS,
  );
});
