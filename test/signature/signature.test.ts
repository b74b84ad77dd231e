import { expect, test } from "vitest";
import { signDelivery, verifySignature } from "../../src/index.js";
import { GOLDEN, GOLDEN_BYTES } from "./golden-vector.js";
import { rawSignature } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** Parts of the golden delivery that a test replaces, as text or bytes. */
interface GoldenChange {
  readonly timestamp?: string;
  readonly id?: string;
  readonly signature?: string;
  readonly body?: Uint8Array | string;
}

/** The golden delivery as a request, with the replacements of `change`. */
function goldenRequest(change: GoldenChange) {
  const { timestamp, id, signature, body } = { ...GOLDEN, body: GOLDEN_BYTES, ...change };
  return {
    method: "POST",
    headers: {
      "x-webhook-type": "new_alarm",
      "x-webhook-id": id,
      "x-webhook-timestamp": timestamp,
      "x-webhook-signature": signature,
    },
    body,
  };
}

const { secret, id, timestamp, body, signature } = GOLDEN;

test.each<[string, Uint8Array | string]>([
  ["text", body],
  ["bytes", GOLDEN_BYTES],
  ["a part of a larger buffer", Uint8Array.of(0x7b, ...GOLDEN_BYTES, 0x7b).subarray(1, -1)],
])("the golden vector is signed, verifies and is handled, from %s", async (_, given) => {
  const facts = { secret, id, timestamp: Number(timestamp), body: given };
  expect(await signDelivery(facts)).toBe(signature);
  const request = goldenRequest({ body: given });
  expect(await verifySignature({ ...request, secret })).toBe(true);
  const { receive, handled } = recordingReceiver();
  expect(await receive(request)).toMatchObject({ status: 200, outcome: "handled" });
  expect(handled).toMatchObject([{ text: "Ålarm – test", payload: '{"k":"a:b"}' }]);
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

test("every byte of the body is covered by the signature, with each of its bits in turn", async () => {
  const flips = Array.from(GOLDEN_BYTES.keys(), (at) => ({
    name: `byte ${at}`,
    body: flipByte(at, at % 8),
  }));
  expect(flips).toHaveLength(340);
  expect(await accepted(flips)).toEqual([]);
});

// All 16 bits of a character, to include characters with the right low byte.
test.each([
  ["timestamp", timestamp],
  ["id", id],
])("every single bit of the %s's text is covered by the signature", async (field, text) => {
  expect(await accepted(textFlips(field, text))).toEqual([]);
});

test("every single bit of the signature counts, except the letter case of its hex digits", async () => {
  const flips = textFlips("signature", signature);
  expect(flips).toHaveLength(signature.length * 16);
  const letters = Array.from(signature).flatMap((digit, at) =>
    at >= "v1=".length && /[a-f]/.test(digit) ? [`character ${at}, bit 5`] : [],
  );
  expect(letters.length).toBeGreaterThan(0);
  expect(await accepted(flips)).toEqual(letters);
});

const SIGNED = `v1:${timestamp}:${id}:${body}`;
const colons = [...SIGNED.matchAll(/:/g)].map(({ index }) => index).slice(1);

/** Every way to read the signed string as a timestamp, an id and a body. */
const RE_CUTS = colons.flatMap((first, at) =>
  colons.slice(at + 1).map((second) => ({
    timestamp: SIGNED.slice("v1:".length, first),
    id: SIGNED.slice(first + 1, second),
    body: SIGNED.slice(second + 1),
  })),
);
const GENUINE = { timestamp, id, body };

test("a captured delivery can be split into 350 others with the same signature", () => {
  expect(RE_CUTS).toHaveLength(351);
  expect(RE_CUTS).toContainEqual(GENUINE);
  // They are realistic: the gateway would have signed the same string for each of these headers
  // and bytes.
  expect(new Set(RE_CUTS.map((cut) => rawSignature(cut)))).toEqual(new Set([signature]));
});

// The clock may be as wrong as the split.
test.each([Number.NaN, Number(timestamp) * 1000])(
  "of all splits, only the genuine one verifies, and no other runs a handler at the time %d",
  async (nowMs) => {
    const { receive, handled } = recordingReceiver({ now: () => nowMs });
    for (const cut of RE_CUTS) {
      const request = goldenRequest(cut);
      const isGenuine = cut.timestamp === timestamp && cut.id === id;
      expect(await verifySignature({ secret, ...request })).toBe(isGenuine);
      const { status, outcome } = await receive(request);
      if (!isGenuine) expect({ status, outcome }).toEqual({ status: 409, outcome: "malformed" });
    }
    expect(handled).toHaveLength(nowMs === Number(timestamp) * 1000 ? 1 : 0);
  },
);

test("a captured delivery cannot be split at the end of the version, which the receiver writes itself", async () => {
  const { receive } = recordingReceiver();
  for (const moved of [
    { timestamp: "", id: timestamp, body: `${id}:${body}` },
    { timestamp: `v1:${timestamp}` },
  ]) {
    expect((await receive(goldenRequest(moved))).outcome).toBe("malformed");
  }
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

function textFlips(field: string, text: string) {
  return Array.from(text).flatMap((letter, at) =>
    bits(16).map((bit) => ({
      name: `character ${at}, bit ${bit}`,
      [field]:
        text.slice(0, at) +
        String.fromCharCode(letter.charCodeAt(0) ^ (1 << bit)) +
        text.slice(at + 1),
    })),
  );
}
