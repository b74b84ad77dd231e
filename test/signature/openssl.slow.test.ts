import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { signDelivery, verifySignature } from "../../src/index.js";

// No NUL: openssl takes the secret as an argument, which cannot contain one.
const secrets = fc
  .string({ unit: "binary", minLength: 1, maxLength: 100 })
  .filter((text) => !text.includes("\0") && text.trim() === text);
const ids = fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/);

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
  // It fails with ENOENT where the openssl command is not on the PATH.
  const args = ["dgst", "-sha256", "-hmac", secret];
  const output = execFileSync("openssl", args, { input: signed, encoding: "utf8" });
  // "HMAC-SHA2-256(stdin)= …": the words before the digits differ between versions.
  const hex = /([0-9a-f]{64})\s*$/.exec(output)?.[1];
  if (hex === undefined) throw new Error(`openssl printed no MAC: ${output}`);
  return `v1=${hex}`;
}
