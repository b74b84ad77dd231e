import { randomBytes } from "node:crypto";

/** A random source that gives the same values for the same seed. */
export type Random = ReturnType<typeof createRandom>;

const TWO_TO_THE_32 = 4_294_967_296;

/** Mulberry32: small, and fast enough for millions of requests. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / TWO_TO_THE_32) * limit);
  };
  return {
    /** A whole number from 0 to `limit` - 1. */
    below,
    /** A number from 0 to just under 1. */
    fraction: () => below(TWO_TO_THE_32) / TWO_TO_THE_32,
    /** True once in `oneIn` calls on average. */
    chance: (oneIn: number) => below(oneIn) === 0,
    /** One of the choices, each with the same probability. */
    pick: <T>(choices: readonly T[]) => choices[below(choices.length)] as T,
  };
}

/** The beginning of every made-up X-Webhook-Id (docs/test-endpoint.md). The gateway's own ids do not begin so. */
const MADE_UP = 0x7e57_da7a;

/**
 * A made-up X-Webhook-Id: a UUID of version 8, whose content is free (RFC 9562), so that a column of type `uuid`
 * takes it. The same `random` bytes give the same id.
 */
export function madeUpDeliveryId(random: Uint8Array = randomBytes(16)): string {
  const bytes = Buffer.from(random.subarray(0, 16));
  bytes.writeUInt32BE(MADE_UP, 0);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
