import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MAX_HEAD_BYTES,
  headText,
  writeHead,
  type SignedHead,
} from "../../../src/signature/crypto/signed-head.js";

const SETTINGS = { seed: 20_260_708, numRuns: 1_000 };
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

describe("writeHead", () => {
  const at = fc.nat(1_000);

  test("as a property, writeHead writes exactly the UTF-8 of headText for every head of the grammar", () => {
    const head = fc.record({
      timestamp: fc.stringMatching(/^[0-9]{1,12}$/),
      id: fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/),
    });
    fc.assert(
      fc.property(head, at, (given, place) => {
        const { end, text, outsideIsUntouched, behindIsUntouched } = written(given, place);
        expect(text).toEqual(utf8Of(given));
        expect(end).toBe(place + utf8Of(given).length);
        expect(outsideIsUntouched && behindIsUntouched).toBe(true);
      }),
      SETTINGS,
    );
  });

  test("writeHead writes the UTF-8 of headText for each length of a timestamp and of an id, up to the longest", () => {
    for (let timestamp = 0; timestamp <= 12; timestamp++) {
      for (let id = 0; id <= 128; id++) {
        const head = { timestamp: "123456789012".slice(0, timestamp), id: "x".repeat(id) };
        const { text, behindIsUntouched } = written(head);
        expect(text?.equals(utf8Of(head)) && behindIsUntouched, `${timestamp} ${id}`).toBe(true);
      }
    }
  });

  test("MAX_HEAD_BYTES is exactly the size of the longest head of the grammar", () => {
    expect(utf8Of(LONGEST)).toHaveLength(MAX_HEAD_BYTES);
    expect(written(LONGEST)).toMatchObject({
      end: MARGIN + MAX_HEAD_BYTES,
      text: utf8Of(LONGEST),
      outsideIsUntouched: true,
    });
  });

  test("writeHead fills memory that ends where the longest head ends", () => {
    const bytes = new Uint8Array(MAX_HEAD_BYTES);
    expect(writeHead(LONGEST, bytes, 0)).toBe(MAX_HEAD_BYTES);
    expect(Buffer.from(bytes)).toEqual(utf8Of(LONGEST));
  });

  test.each<[string, SignedHead]>([
    ["an id with one character too many", { ...LONGEST, id: "z".repeat(129) }],
    ["a timestamp with one character too many", { ...LONGEST, timestamp: "9".repeat(13) }],
    ["a too long id without a timestamp", { timestamp: "", id: "z".repeat(141) }],
    ["a too long timestamp without an id", { timestamp: "9".repeat(141), id: "" }],
    ["an id of 100 000 characters", { timestamp: "1", id: "z".repeat(100_000) }],
    ["a timestamp of 100 000 characters", { timestamp: "9".repeat(100_000), id: "a" }],
    ["too many non-ASCII characters", { timestamp: "1", id: "\u0136".repeat(200) }],
  ])("writeHead refuses %s, and writes nothing outside its space", (_, head) => {
    expect(written(head)).toMatchObject({ end: undefined, outsideIsUntouched: true });
  });

  test("writeHead accepts only the ASCII characters, in each position of both texts", () => {
    const off: string[] = [];
    for (let code = 0; code <= 0xffff; code++) {
      const one = String.fromCharCode(code);
      const heads = [`${one}66`, `6${one}6`, `66${one}`].flatMap((text) => [
        { timestamp: text, id: "a" },
        { timestamp: "1760000000", id: text },
      ]);
      const bytes = new Uint8Array(MAX_HEAD_BYTES);
      for (const head of heads) {
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

  // The low bytes of the first two are those of "6" and "=6".
  test.each(["\u0136", "\u{1f536}", "\ud836", "\udc36", "\u0080", "\u00ff"])(
    "writeHead refuses the longest id with %j at any position",
    (letter) => {
      for (let place = 0; place + letter.length <= 128; place++) {
        const id = LONGEST.id.slice(0, place) + letter + LONGEST.id.slice(place + letter.length);
        expect(written({ ...LONGEST, id }), String(place)).toMatchObject({
          end: undefined,
          outsideIsUntouched: true,
        });
      }
    },
  );

  test("as a property, writeHead accepts two texts exactly if both are ASCII and short enough", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary-ascii", maxLength: 160, size: "max" }),
      fc.string({ unit: "binary", maxLength: 160, size: "max" }),
      fc.string({ unit: "binary-ascii", maxLength: 20 }),
    );
    const head = fc.record({ timestamp: text, id: text });
    const seen = { written: 0, refused: 0 };
    fc.assert(
      fc.property(head, at, (given, place) => {
        const utf8 = utf8Of(given);
        const canBe = utf8.length <= MAX_HEAD_BYTES && utf8.every((byte) => byte < 0x80);
        seen[canBe ? "written" : "refused"] += 1;
        const result = written(given, place);
        expect(result.text).toEqual(canBe ? utf8 : undefined);
        expect(result.outsideIsUntouched).toBe(true);
      }),
      SETTINGS,
    );
    expect(Math.min(seen.written, seen.refused)).toBeGreaterThan(100);
  });

  test("writeHead writes the same bytes again after a head that it has refused", () => {
    const bytes = new Uint8Array(MAX_HEAD_BYTES);
    const short: SignedHead = { timestamp: "1", id: "a" };
    expect(writeHead({ ...LONGEST, id: `${"z".repeat(127)}\u0136` }, bytes, 0)).toBeUndefined();
    const end = writeHead(short, bytes, 0);
    expect(Buffer.from(bytes.subarray(0, end)).toString()).toBe("v1:1:a:");
  });
});
