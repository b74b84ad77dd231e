import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ConfigurationError, signDelivery, verifySignature } from "../../src/index.js";
import type { VerifySignatureOptions } from "../../src/signature/verify-signature.js";
import { rejectionOf } from "../support/thrown.js";
import { NOW_SECONDS, TEST_SECRET, delivery } from "../support/deliveries.js";

const BAD_SECRETS: [string, unknown, string][] = [
  ["empty", "", "unusable_secret"],
  ["a text with a newline at the end", `${TEST_SECRET}\n`, "unusable_secret"],
  ['the text "undefined"', "undefined", "unusable_secret"],
];

/** A call rejects because of its secret, which its error does not show. */
async function expectRefusal(call: Promise<unknown>, code: string): Promise<void> {
  const error = await rejectionOf(() => call);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toMatchObject({ code });
  expect(String(error)).toContain(": secret");
  expect(String(error)).not.toContain(TEST_SECRET);
}

const facts = { secret: TEST_SECRET, id: "d-1", timestamp: NOW_SECONDS, body: "{}" };
const sign = (overrides: Record<string, unknown>) => signDelivery({ ...facts, ...overrides });

test("signDelivery signs half a surrogate pair as the replacement character", async () => {
  expect(await sign({ body: "\ud83d" })).toBe(await sign({ body: "\ufffd" }));
});

test("as a property, verifySignature accepts everything that signDelivery signs", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "binary", minLength: 1 }).filter((secret) => secret.trim() === secret),
      fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/),
      fc.nat(999_999_999_999),
      fc.oneof(fc.uint8Array(), fc.string({ unit: "binary" })),
      async (secret, id, timestamp, body) => {
        const signature = await signDelivery({ secret, id, timestamp, body });
        const headers = new Headers({
          "x-webhook-id": id,
          "x-webhook-timestamp": String(timestamp),
          "x-webhook-signature": signature,
        });
        expect(await verifySignature({ secret, headers, body })).toBe(true);
      },
    ),
    { seed: 20_260_708, numRuns: 100 },
  );
});

test.each([0, -0, 1, 999_999_999_999])(
  "signDelivery accepts the timestamp %d",
  async (timestamp) => {
    expect(await sign({ timestamp })).toMatch(/^v1=/);
  },
);

test.each([-1, 1.5, 1e12, 1e21, Number.NaN, undefined, ""])(
  "signDelivery rejects the timestamp %s, which no receiver accepts",
  async (timestamp) => {
    await expect(sign({ timestamp })).rejects.toMatchObject({ code: "invalid_timestamp" });
    await expect(sign({ timestamp })).rejects.toThrow(/timestamp .*seconds/);
  },
);

test.each(["", "a:b", "\u0136", "x".repeat(129)])(
  "signDelivery rejects the id %j, which no receiver accepts",
  async (id) => {
    await expect(sign({ id })).rejects.toMatchObject({ code: "invalid_delivery_id" });
    await expect(sign({ id })).rejects.toThrow(/^id /);
  },
);

test.each([...BAD_SECRETS, ["a list", [TEST_SECRET], "unusable_secret"]])(
  "signDelivery rejects a secret that is %s",
  async (_, secret, code) => {
    await expectRefusal(sign({ secret }), code);
  },
);

test("signDelivery rejects a body that a parser made", async () => {
  await expect(sign({ body: { alarm: {} } })).rejects.toThrow();
});

const verify = (options: Record<string, unknown>) =>
  verifySignature({ secret: TEST_SECRET, ...options } as unknown as VerifySignatureOptions);

test("verifySignature ignores freshness, type and duplicates", async () => {
  const request = await delivery({ timestamp: 0, type: "added_later", body: "not json" });
  expect(await verify(request)).toBe(true);
  expect(await verify(request)).toBe(true);
  for (const [type, expected] of [
    [undefined, true],
    [["a b", ":"], false],
  ]) {
    const headers = { ...request.headers, "x-webhook-type": type };
    expect(await verify({ ...request, headers })).toBe(expected);
  }
});

test("verifySignature accepts a match with any secret of a list", async () => {
  const request = await delivery();
  expect(await verify({ ...request, secret: ["whsec_a", TEST_SECRET, "whsec_b"] })).toBe(true);
  expect(await verify({ ...request, secret: ["whsec_a", "whsec_b"] })).toBe(false);
});

test.each<[string, unknown]>([
  ["undefined", undefined],
  ["a text", "x-webhook-signature: v1="],
  ["an empty Headers object", new Headers()],
])("verifySignature returns false for headers that are %s", async (_, headers) => {
  expect(await verify({ headers, body: "" })).toBe(false);
});

test.each(["x-webhook-id", "x-webhook-timestamp", "x-webhook-signature"])(
  "verifySignature returns false if %s is missing or invalid, or is repeated and no list",
  async (name) => {
    const { headers, body } = await delivery();
    const text = headers[name as keyof typeof headers];
    for (const change of [
      { [name]: undefined },
      { [name]: `\u00a0${text}` },
      name === "x-webhook-signature" ? { [name]: [text, "other"] } : { [name.toUpperCase()]: text },
    ]) {
      expect(await verify({ headers: { ...headers, ...change }, body })).toBe(false);
    }
  },
);

test.each<[string, unknown]>([
  ["null, as in a serverless event without a body", null],
  ["an object that a parser made", { alarm: {} }],
  ["a list of bytes", [123, 125]],
])("verifySignature returns false for a body that is %s, and does not reject", async (_, body) => {
  const { headers } = await delivery({ body: "{}" });
  expect(await verify({ headers, body })).toBe(false);
});

test("verifySignature never rejects because of the headers", async () => {
  const { headers: good } = await delivery();
  const names = fc.constantFrom(...Object.keys(good), "X-Webhook-Id", "get", "__proto__", "length");
  const texts = fc.oneof(
    fc.constantFrom(...Object.values(good)),
    fc.string({ unit: "binary" }),
    fc.anything(),
  );
  const headers = fc.oneof(fc.anything(), fc.dictionary(names, texts));
  const bodies = fc.oneof(fc.uint8Array(), fc.string({ unit: "binary" }));
  await fc.assert(
    fc.asyncProperty(headers, bodies, async (given, body) => {
      expect(await verify({ headers: given, body })).toBe(false);
    }),
    { seed: 20_260_708, numRuns: 1_000 },
  );
});

test.each([
  ...BAD_SECRETS,
  ["undefined", undefined, "missing_secret"],
  ["an empty list", [], "missing_secret"],
  ["a list with an empty text", [TEST_SECRET, ""], "unusable_secret"],
  ["a record by webhook type", { new_alarm: TEST_SECRET }, "missing_secret"],
])(
  "verifySignature rejects a secret that is %s, whatever the delivery is",
  async (_, secret, code) => {
    await expectRefusal(verify({ ...(await delivery()), secret }), code);
  },
);
