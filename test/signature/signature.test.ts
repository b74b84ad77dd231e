import { describe, expect, test } from "vitest";
import { signDelivery, verifySignature } from "../../src/index.js";
import { GOLDEN, GOLDEN_BYTES, goldenRequest, type GoldenChange } from "./golden-vector.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const { secret, id, timestamp, body, signature } = GOLDEN;

describe("the golden vector", () => {
  test("the golden vector has the 340 published bytes", () => {
    expect(GOLDEN_BYTES).toHaveLength(340);
  });

  test("signDelivery reproduces the golden vector, from text and from bytes", async () => {
    const facts = { secret, id, timestamp: Number(timestamp) };
    expect(await signDelivery({ ...facts, body })).toBe(signature);
    expect(await signDelivery({ ...facts, body: GOLDEN_BYTES })).toBe(signature);
    expect(await signDelivery({ ...facts, body: Buffer.from(GOLDEN_BYTES) })).toBe(signature);
  });

  test("the golden vector verifies, from text and from bytes", async () => {
    const { headers } = goldenRequest();
    expect(await verifySignature({ secret, headers, body })).toBe(true);
    expect(await verifySignature({ secret, headers, body: GOLDEN_BYTES })).toBe(true);
  });

  test("the golden vector is handled", async () => {
    const { receive, handled } = recordingReceiver();
    expect(await receive(goldenRequest())).toMatchObject({ status: 200, outcome: "handled" });
    expect(handled).toMatchObject([{ text: "Ålarm – test", payload: '{"k":"a:b"}' }]);
  });

  test("the golden vector verifies as a part of a larger buffer", async () => {
    const larger = new Uint8Array(1_000).fill(0x7b);
    larger.set(GOLDEN_BYTES, 100);
    const view = larger.subarray(100, 100 + GOLDEN_BYTES.length);
    expect(await verifySignature({ ...goldenRequest(), secret, body: view })).toBe(true);
    expect(await recordingReceiver().receive(goldenRequest({ body: view }))).toMatchObject({
      outcome: "handled",
    });
  });

  test.each([
    ["no body", { body: new Uint8Array(0) }],
    ["the body without its last byte", { body: GOLDEN_BYTES.subarray(0, -1) }],
    ["the body with a newline at its end", { body: `${body}\n` }],
    ["the body serialised again", { body: JSON.stringify(JSON.parse(body), null, 1) }],
    ["another timestamp", { timestamp: "1760000001" }],
    ["the timestamp with a leading zero", { timestamp: `0${timestamp}` }],
    ["the id in capitals", { id: id.toUpperCase() }],
  ])("the golden vector does not verify with %s", async (_, change: GoldenChange) => {
    const request = goldenRequest(change);
    const { receive, handled } = recordingReceiver();
    expect(await verifySignature({ secret, ...request })).toBe(false);
    expect(await receive(request)).toMatchObject({ status: 409, outcome: "signature_mismatch" });
    expect(handled).toEqual([]);
  });
});

describe("every single bit", () => {
  test("every single bit of the body is covered by the signature", async () => {
    const flips = [...GOLDEN_BYTES.keys()].flatMap((at) =>
      bits(8).map((bit) => ({ name: `byte ${at}, bit ${bit}`, body: flipByte(at, bit) })),
    );
    expect(flips).toHaveLength(340 * 8);
    expect(await accepted(flips)).toEqual([]);
  });

  // All 16 bits of a character, to include characters with the right low byte.
  test("every single bit of the timestamp's text is covered by the signature", async () => {
    const flips = textFlips(timestamp).map(({ name, text }) => ({ name, timestamp: text }));
    expect(flips).toHaveLength(timestamp.length * 16);
    expect(await accepted(flips)).toEqual([]);
  });

  test("every single bit of the id's text is covered by the signature", async () => {
    const flips = textFlips(id).map(({ name, text }) => ({ name, id: text }));
    expect(flips).toHaveLength(id.length * 16);
    expect(await accepted(flips)).toEqual([]);
  });

  test("every single bit of the signature counts, except the letter case of its hex digits", async () => {
    const flips = textFlips(signature).map(({ name, text }) => ({ name, signature: text }));
    expect(flips).toHaveLength(signature.length * 16);
    const letters = Array.from(signature).flatMap((digit, at) =>
      at >= "v1=".length && /[a-f]/.test(digit) ? [`character ${at}, bit 5`] : [],
    );
    expect(letters.length).toBeGreaterThan(0);
    expect(await accepted(flips)).toEqual(letters);
  });
});

/**
 * The names of the changes that are accepted. Both the receiver and verifySignature check each, and
 * must agree.
 */
async function accepted(changes: readonly (GoldenChange & { name: string })[]): Promise<string[]> {
  const names: string[] = [];
  for (const { name, ...change } of changes) {
    const request = goldenRequest(change);
    // Each has its own receiver: otherwise the first delivery would make duplicates of the others.
    const { receive, handled } = recordingReceiver();
    const verified = await verifySignature({ secret, ...request });
    const { status } = await receive(request);
    const expected = verified ? { status: 200, runs: 1 } : { status: 409, runs: 0 };
    expect({ status, runs: handled.length }, name).toEqual(expected);
    if (verified) names.push(name);
  }
  return names;
}

function bits(count: number): number[] {
  return Array.from({ length: count }, (_, bit) => bit);
}

function flipByte(at: number, bit: number): Uint8Array {
  return GOLDEN_BYTES.map((byte, index) => (index === at ? byte ^ (1 << bit) : byte));
}

function textFlips(text: string) {
  return Array.from({ length: text.length }, (_, at) => at).flatMap((at) =>
    bits(16).map((bit) => ({
      name: `character ${at}, bit ${bit}`,
      text:
        text.slice(0, at) +
        String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)) +
        text.slice(at + 1),
    })),
  );
}
