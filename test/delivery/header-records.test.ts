import { describe, expect, test } from "vitest";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { verifySignature } from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** A delivery that is handled if its headers are found. */
const GENUINE = rawDelivery();
const NAMES = Object.keys(GENUINE.headers) as (keyof typeof GENUINE.headers)[];

/**
 * The outcome of the genuine delivery with these headers, from both functions that read headers.
 */
async function judge(headers: unknown) {
  const { receive, handled } = recordingReceiver();
  const request = { headers: headers as WebhookHeaders, body: GENUINE.body };
  const { outcome, status } = await receive(request);
  expect(handled).toHaveLength(outcome === "handled" ? 1 : 0);
  expect(status).toBe(outcome === "handled" ? 200 : 409);
  const verified = await verifySignature({ secret: TEST_SECRET, ...request });
  return { outcome, verified };
}

const HANDLED = { outcome: "handled", verified: true };
const MALFORMED = { outcome: "malformed", verified: false };

/** One of a name's letter cases, chosen by the bits of `mask`. */
function inCase(name: string, mask: number): string {
  return Array.from(name, (letter, at) =>
    (mask >>> (at % 20)) & 1 ? letter.toUpperCase() : letter,
  ).join("");
}

describe.each(NAMES)("%s", (name) => {
  const text = GENUINE.headers[name];
  const others = Object.fromEntries(
    Object.entries(GENUINE.headers).filter(([key]) => key !== name),
  );

  test.each(["before", "after"])(
    `${name} is malformed if a second letter case comes %s the lower case`,
    async (place) => {
      const second = { [inCase(name, 1)]: text };
      const record =
        place === "before" ? { ...second, ...GENUINE.headers } : { ...GENUINE.headers, ...second };
      expect(await judge(record)).toEqual(MALFORMED);
    },
  );

  test(`${name} is malformed in two letter cases, both not lower case, in any order`, async () => {
    const [one, two] = [{ [inCase(name, 1)]: text }, { [inCase(name, 2 ** 11)]: text }];
    expect(await judge({ ...others, ...one, ...two })).toEqual(MALFORMED);
    expect(await judge({ ...two, ...others, ...one })).toEqual(MALFORMED);
  });

  test.each([
    ["in lower case", 0],
    ["in another letter case", 0xfffff],
  ])(
    `${name} is read once from a getter %s, so the checked value is the used value`,
    async (_, mask) => {
      let reads = 0;
      const record = Object.defineProperty({ ...others }, inCase(name, mask), {
        enumerable: true,
        get: () => {
          reads += 1;
          return text;
        },
      });
      const { receive } = recordingReceiver();
      const { outcome } = await receive({ headers: record, body: GENUINE.body });
      expect({ outcome, reads }).toEqual({ outcome: "handled", reads: 1 });
    },
  );

  test(`${name} may have a getter that throws, and the delivery is not rejected`, async () => {
    const record = Object.defineProperty({ ...others }, name, {
      enumerable: true,
      get: throwing(new Error("no headers today")),
    });
    const { receive, handled } = recordingReceiver();
    const answer = await receive({ headers: record, body: GENUINE.body });
    expect(answer).toMatchObject({ status: 500, outcome: "internal_error" });
    expect(handled).toEqual([]);
  });

  test(`${name} does not count as repeated because of an inherited property`, async () => {
    for (const inherited of [name, inCase(name, 1)]) {
      const record = Object.assign(
        Object.create({ [inherited]: "other" }) as object,
        GENUINE.headers,
      );
      expect(await judge(record)).toEqual(HANDLED);
    }
  });

  test(`${name} does not count as repeated because of a symbol with its name`, async () => {
    const record = { ...GENUINE.headers, [Symbol(name)]: "other", [Symbol.for(name)]: "other" };
    expect(await judge(record)).toEqual(HANDLED);
  });
});

test("inherited and non-enumerable names are not headers of a record", async () => {
  for (const mask of [0, 1, 0xfffff]) {
    const headers = Object.entries(GENUINE.headers).map(([name, text]) => [
      inCase(name, mask),
      text,
    ]);
    const record = Object.fromEntries(headers) as object;
    expect(await judge(Object.create(record))).toEqual(MALFORMED);
    const hidden = Object.defineProperties({}, Object.getOwnPropertyDescriptors(record));
    expect(await judge(hidden)).toEqual(HANDLED);
    for (const name of Object.keys(hidden)) {
      Object.defineProperty(hidden, name, { enumerable: false });
    }
    expect(await judge(hidden)).toEqual(MALFORMED);
  }
});
