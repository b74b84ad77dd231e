import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  MAX_HEAD_BYTES,
  headText,
  writeHead,
  type SignedHead,
} from "../../../src/signature/crypto/signed-head.js";

const SETTINGS = { seed: 20_260_708, numRuns: 300 };
const LONGEST: SignedHead = { timestamp: "9".repeat(12), id: "z".repeat(128) };
/** Bytes before and after the space of a head. */
const MARGIN = 300;
const CANARY = 0xee;

/** Writes at `at` in memory with margins, and returns what each part contains. */
function written(head: SignedHead, at = MARGIN) {
  const bytes = new Uint8Array(at + MAX_HEAD_BYTES + MARGIN).fill(CANARY);
  const end = writeHead(head, bytes, at);
  const isUntouched = (from: number, to?: number) =>
    bytes.subarray(from, to).every((byte) => byte === CANARY);
  return {
    end,
    text: end === undefined ? undefined : Buffer.from(bytes.subarray(at, end)),
    outsideIsUntouched: isUntouched(0, at) && isUntouched(at + MAX_HEAD_BYTES),
    behindIsUntouched: end !== undefined && isUntouched(end),
  };
}

function utf8Of(head: SignedHead): Buffer {
  return Buffer.from(headText(head), "utf8");
}

test("headText joins v1, the timestamp and the id with colons, and ends with a colon", () => {
  expect(headText({ timestamp: "1760000000", id: "a-1" })).toBe("v1:1760000000:a-1:");
});

test("as a property, writeHead writes exactly the UTF-8 of headText for every head of the grammar", () => {
  const head = fc.record({
    timestamp: fc.stringMatching(/^[0-9]{1,12}$/),
    id: fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/),
  });
  fc.assert(
    fc.property(head, fc.nat(1_000), (given, place) => {
      const { end, text, outsideIsUntouched, behindIsUntouched } = written(given, place);
      expect(text).toEqual(utf8Of(given));
      expect(end).toBe(place + utf8Of(given).length);
      expect(outsideIsUntouched && behindIsUntouched).toBe(true);
    }),
    SETTINGS,
  );
});

test("MAX_HEAD_BYTES is exactly the size of the longest head of the grammar", () => {
  expect(utf8Of(LONGEST)).toHaveLength(MAX_HEAD_BYTES);
  expect(written(LONGEST)).toMatchObject({
    end: MARGIN + MAX_HEAD_BYTES,
    text: utf8Of(LONGEST),
    outsideIsUntouched: true,
  });
});

test.each<[string, SignedHead]>([
  ["an id with one character too many", { ...LONGEST, id: "z".repeat(129) }],
  ["a timestamp with one character too many", { ...LONGEST, timestamp: "9".repeat(13) }],
  ["an id of 100 000 characters", { timestamp: "1", id: "z".repeat(100_000) }],
  ["too many non-ASCII characters", { timestamp: "1", id: "\u0136".repeat(200) }],
])("writeHead refuses %s, and writes nothing outside its space", (_, head) => {
  expect(written(head)).toMatchObject({ end: undefined, outsideIsUntouched: true });
});

test("writeHead accepts only the ASCII characters, in both texts", () => {
  const off: string[] = [];
  const bytes = new Uint8Array(MAX_HEAD_BYTES);
  for (let code = 0; code <= 0xffff; code++) {
    const one = String.fromCharCode(code);
    for (const head of [
      { timestamp: `6${one}6`, id: "a" },
      { timestamp: "1760000000", id: `6${one}6` },
    ]) {
      const end = writeHead(head, bytes, 0);
      const isRight =
        code > 0x7f
          ? end === undefined
          : end !== undefined && utf8Of(head).equals(bytes.subarray(0, end));
      if (!isRight) off.push(`${code} in ${JSON.stringify(head)}`);
    }
  }
  expect(off).toEqual([]);
});

test("as a property, writeHead accepts two texts exactly if both are ASCII and short enough", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary-ascii", maxLength: 160, size: "max" }),
    fc.string({ unit: "binary", maxLength: 160, size: "max" }),
    fc.string({ unit: "binary-ascii", maxLength: 20 }),
  );
  const seen = { written: 0, refused: 0 };
  fc.assert(
    fc.property(fc.record({ timestamp: text, id: text }), fc.nat(1_000), (given, place) => {
      const utf8 = utf8Of(given);
      const canBe = utf8.length <= MAX_HEAD_BYTES && utf8.every((byte) => byte < 0x80);
      seen[canBe ? "written" : "refused"] += 1;
      const result = written(given, place);
      expect(result.text).toEqual(canBe ? utf8 : undefined);
      expect(result.outsideIsUntouched).toBe(true);
    }),
    SETTINGS,
  );
  expect(Math.min(seen.written, seen.refused)).toBeGreaterThan(50);
});
