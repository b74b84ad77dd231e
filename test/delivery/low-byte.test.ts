import { describe, expect, test } from "vitest";
import { verifySignature } from "../../src/index.js";
import type { WebhookHeaders } from "../../src/delivery/header-values.js";
import { NOW_SECONDS, TEST_SECRET } from "../support/deliveries.js";
import { spiedStore } from "../support/spied-store.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

// Writing text as latin1 keeps only the low byte of a character. A captured delivery that is sent
// again with U+0136 instead of a "6" in its id would then have the same signature and a new id.

const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3666";
const NAMES = { id: "x-webhook-id", timestamp: "x-webhook-timestamp" } as const;
type Headers = ReturnType<typeof rawDelivery>["headers"];

const HOLDERS: [string, (headers: Headers) => WebhookHeaders][] = [
  ["a record", (headers) => headers],
  ["a record of lists", (headers) => mapEntries(headers, (name, text) => [name, [text]])],
  [
    "a record in capitals",
    (headers) => mapEntries(headers, (name, text) => [name.toUpperCase(), text]),
  ],
  ["an object with get", (headers) => ({ get: (name) => headers[name as keyof Headers] })],
];

/**
 * The outcome of a captured delivery, already handled once, that is sent again with the headers
 * that `forge` makes.
 */
async function replay(
  forge: (headers: Headers) => Headers,
  hold: (headers: Headers) => WebhookHeaders,
) {
  const { store, calls } = spiedStore();
  const { receive, handled } = recordingReceiver({ store });
  const { headers, body } = rawDelivery({ id: ID });
  const first = await receive({ headers: hold(headers), body });
  expect(first.outcome).toBe("handled");
  const callsBefore = calls.length;
  const forged = hold(forge(headers));
  const { outcome, status } = await receive({ headers: forged, body });
  const verified = await verifySignature({ secret: TEST_SECRET, headers: forged, body });
  return { outcome, status, verified, runs: handled.length, calls: calls.length - callsBefore };
}

/** One run with the captured delivery. The runs do not share a store. */
const MALFORMED = { outcome: "malformed", status: 409, verified: false, runs: 1, calls: 0 };

describe.each(HOLDERS)("in %s, a captured delivery with a changed character", (holder, hold) => {
  test.each([
    ["one U+0136 for a 6 of its id", "id", ID.replace("6", "\u0136")],
    ["U+0136 for the 6 of its timestamp", "timestamp", String(NOW_SECONDS).replace("6", "\u0136")],
  ] as const)(
    `a captured delivery in ${holder} is malformed with %s (%s)`,
    async (_what, field, text) => {
      const forge = (headers: Headers) => ({ ...headers, [NAMES[field]]: text });
      expect(await replay(forge, hold)).toEqual(MALFORMED);
    },
  );
});

test.each([
  ["id", "\u0136"],
  ["id", "a:b"],
  ["id", "a".repeat(129)],
  ["timestamp", "17\u01360000000"],
  ["timestamp", "0".repeat(13)],
] as const)(
  "verifySignature refuses the %s %j, even with a correct signature",
  async (field, text) => {
    const secret = TEST_SECRET;
    expect(await verifySignature({ secret, ...rawDelivery() })).toBe(true);
    expect(await verifySignature({ secret, ...rawDelivery({ [field]: text }) })).toBe(false);
  },
);

function mapEntries<T>(
  headers: Headers,
  to: (name: string, text: string) => [string, T],
): Record<string, T> {
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => to(name, text)));
}
