import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { signDelivery, verifySignature } from "../../src/index.js";

const ID_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-";

// No NUL: openssl takes the secret as an argument, which cannot contain one.
const secrets = fc
  .string({ unit: "binary", minLength: 1, maxLength: 100 })
  .filter((text) => !text.includes("\0") && text.trim() === text);
const ids = fc.string({
  unit: fc.constantFrom(...Array.from(ID_CHARACTERS)),
  minLength: 1,
  maxLength: 128,
});

test("50 random deliveries signed by openssl are verified", async () => {
  const deliveries = fc.sample(
    fc.record({
      secret: secrets,
      id: ids,
      timestamp: fc.nat(999_999_999_999),
      body: fc.uint8Array({ maxLength: 2_000 }),
    }),
    { seed: 20_260_708, numRuns: 50 },
  );
  expect(deliveries).toHaveLength(50);

  for (const { secret, id, timestamp, body } of deliveries) {
    const signature = opensslSignature(
      secret,
      Buffer.concat([Buffer.from(`v1:${timestamp}:${id}:`), body]),
    );
    const headers = {
      "X-Webhook-Id": id,
      "X-Webhook-Timestamp": String(timestamp),
      "X-Webhook-Signature": signature,
    };
    expect(await verifySignature({ secret, headers, body })).toBe(true);
    expect(await verifySignature({ secret: `${secret}x`, headers, body })).toBe(false);
    expect(await signDelivery({ secret, id, timestamp, body })).toBe(signature);
  }
});

function opensslSignature(secret: string, signed: Uint8Array): string {
  const output = openssl(["dgst", "-sha256", "-hmac", secret], signed);
  // "HMAC-SHA2-256(stdin)= …": the words before the digits differ between versions.
  const hex = /([0-9a-f]{64})\s*$/.exec(output)?.[1];
  if (hex === undefined) throw new Error(`openssl printed no MAC: ${output}`);
  return `v1=${hex}`;
}

function openssl(args: readonly string[], input: Uint8Array): string {
  try {
    return execFileSync("openssl", args, { input, encoding: "utf8" });
  } catch (error) {
    throw new Error("this test needs the openssl command: install it, or put it on the PATH", {
      cause: error,
    });
  }
}
