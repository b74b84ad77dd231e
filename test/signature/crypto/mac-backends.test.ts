import * as nodeCrypto from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CryptoBackend } from "../../../src/signature/crypto/backend.js";
import { backend as node, createNodeBackend } from "../../../src/signature/crypto/node.js";
import { headText, type SignedHead } from "../../../src/signature/crypto/signed-head.js";
import { backend as web } from "../../../src/signature/crypto/web.js";

// Rules for every backend.

const SETTINGS = { seed: 20_260_708, numRuns: 200 };
const SECRET = "whsec_test";
const HEAD: SignedHead = { timestamp: "1760000000", id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301" };

const BACKENDS: [string, CryptoBackend<unknown>][] = [
  ["the Node backend", node],
  ["the Node backend with createHmac only", createNodeBackend(undefined)],
  ["the Web backend", web],
];

/** The signature that `node:crypto` makes of the UTF-8 of the head and the bytes after it. */
function macOf(secret: string, head: SignedHead, body: Uint8Array): string {
  const bytes = Buffer.from(headText(head), "utf8");
  return nodeCrypto.createHmac("sha256", secret).update(bytes).update(body).digest("hex");
}

function signatureOf(secret: string, head: SignedHead, body: Uint8Array): string {
  return `v1=${macOf(secret, head, body)}`;
}

/** U+0136, whose low byte is a 6; U+00E9, one byte in latin1; and U+1F536, whose halves end in 3D and 36. */
const NOT_ASCII = ["\u0136", "\u00e9", "\u{1f536}"].flatMap((letter): SignedHead[] => [
  { timestamp: "1760000000", id: `a${letter}` },
  { timestamp: `17${letter}0000000`, id: "a" },
]);
const BRACES = Uint8Array.of(0x7b, 0x7d);
const FLIP = { at: 0, bit: 0 };

const grammaticalHead: fc.Arbitrary<SignedHead> = fc.record({
  timestamp: fc.stringMatching(/^[0-9]{1,12}$/),
  id: fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/),
});
const anyHead: fc.Arbitrary<SignedHead> = fc.record({
  timestamp: fc.string({ unit: "binary", maxLength: 20 }),
  id: fc.string({ unit: "binary", maxLength: 160 }),
});
const head = fc.oneof(grammaticalHead, anyHead);
/** 1 to 200 bytes: WebCrypto refuses an empty key, and no secret is empty. */
const secret = fc.oneof(
  fc
    .string({ unit: "binary", minLength: 1, maxLength: 200 })
    .filter((text) => Buffer.byteLength(text) <= 200),
  fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 200 }),
);
const body = fc.oneof(
  { weight: 5, arbitrary: fc.uint8Array({ maxLength: 5_000, size: "max" }) },
  {
    weight: 1,
    arbitrary: fc
      .record({ length: fc.nat(70_000), salt: fc.nat(255) })
      .map(({ length, salt }) => Uint8Array.from({ length }, (_, at) => at * 31 + salt)),
  },
);

test.each(BACKENDS)(
  "%s makes the same MAC wherever the head ends and the body starts",
  async (_, backend) => {
    const key = backend.importKey(SECRET);
    const cuts: [SignedHead, string][] = [
      [{ timestamp: "1", id: "a" }, "b:c::d"],
      [{ timestamp: "1", id: "a:b" }, "c::d"],
      [{ timestamp: "1:a", id: "b" }, "c::d"],
      [{ timestamp: "1:a:b", id: "c" }, ":d"],
      [{ timestamp: "1", id: "a:b:c:" }, "d"],
    ];
    const whole = nodeCrypto.createHmac("sha256", SECRET).update("v1:1:a:b:c::d").digest("hex");
    for (const [cut, rest] of cuts) {
      expect(await backend.sign(key, cut, Buffer.from(rest))).toBe(whole);
    }
    expect(await backend.sign(key, { timestamp: "1", id: "b" }, Buffer.from("b:c::d"))).not.toBe(
      whole,
    );
  },
);

test("all backends make the MAC of node:crypto, accept each other's MACs and refuse one with a wrong bit", async () => {
  const flip = fc.record({ at: fc.nat(31), bit: fc.nat(7) });
  await fc.assert(
    fc.asyncProperty(secret, head, body, flip, async (text, signedHead, bytes, { at, bit }) => {
      const right = macOf(text, signedHead, bytes);
      const mac = Buffer.from(right, "hex");
      mac[at] = (mac[at] ?? 0) ^ (1 << bit);
      const wrong = `v1=${mac.toString("hex")}`;
      for (const [name, backend] of BACKENDS) {
        const key = backend.importKey(text);
        expect(await backend.sign(key, signedHead, bytes), name).toBe(right);
        expect(await backend.verify(key, signedHead, bytes, `v1=${right}`), name).toBe(true);
        expect(await backend.verify(key, signedHead, bytes, wrong), name).toBe(false);
      }
    }),
    { ...SETTINGS, examples: NOT_ASCII.map((given) => [SECRET, given, BRACES, FLIP]) },
  );
});

test("all backends accept the same texts as a signature: v1= and the digits in any letter case", async () => {
  const bytes = Buffer.from("{}");
  const right = signatureOf(SECRET, HEAD, bytes);
  // Edits with all kinds of characters, most of them those of a signature.
  const unit = fc.oneof(
    fc.constantFrom(...Array.from('0123456789abcdefABCDEFgGvV1=: \n"\u0130\u0161\uff11\u212a')),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  );
  const place = fc.nat(67);
  const edit = fc.oneof(
    fc.tuple(place, unit).map(([at, one]) => replaced(at, one)),
    fc.tuple(place, unit).map(([at, one]) => inserted(at, one)),
    fc.tuple(place, fc.nat(3)).map(([at, count]) => removed(at, count)),
    fc
      .nat(67)
      .map((from) => (text: string) => text.slice(0, from) + text.slice(from).toUpperCase()),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { maxLength: 3 }), async (edits) => {
      const text = edits.reduce((before, change) => change(before), right);
      const isRight =
        /^v1=[0-9A-Fa-f]{64}$/.test(text) && text.slice(3).toLowerCase() === right.slice(3);
      for (const [name, backend] of BACKENDS) {
        const key = backend.importKey(SECRET);
        expect(await backend.verify(key, HEAD, bytes, text), name).toBe(isRight);
      }
    }),
    { ...SETTINGS, numRuns: 1_000 },
  );
});

describe.each(BACKENDS)("the bytes of a head that %s signs", (name, backend) => {
  const bytes = Buffer.from("{}");
  const key = backend.importKey(SECRET);

  describe.each([
    ["id", (text: string): SignedHead => ({ timestamp: "1760000000", id: `a${text}` })],
    ["timestamp", (text: string): SignedHead => ({ timestamp: `17${text}0000000`, id: "a" })],
  ] as const)("in the %s", (field, headOf) => {
    test(`${name} signs half a surrogate pair in the ${field} as the replacement character`, async () => {
      const expected = macOf(SECRET, headOf("\ufffd"), bytes);
      expect(await backend.sign(key, headOf("\ud83d"), bytes)).toBe(expected);
      expect(await backend.sign(key, headOf("\udd36"), bytes)).toBe(expected);
    });
  });
});

describe.each(BACKENDS)("the bytes of a body that %s signs", (name, backend) => {
  const bytes = Uint8Array.from({ length: 100 }, (_, at) => at * 3);
  const around = (larger: Uint8Array) => {
    larger.fill(0xee).set(bytes, 13);
    return larger.subarray(13, 13 + bytes.length);
  };

  test.each<[string, Uint8Array]>([
    ["a part of a larger Uint8Array", around(new Uint8Array(300))],
    ["a part of a Buffer", around(Buffer.alloc(300))],
    ["a part of Node's pool of small buffers", around(Buffer.allocUnsafe(300))],
    ["memory that threads share", around(new Uint8Array(new SharedArrayBuffer(300)))],
  ])(`${name} signs the bytes of a body that is %s`, async (_, given) => {
    const expected = macOf(SECRET, HEAD, bytes);
    const key = backend.importKey(SECRET);
    expect(await backend.sign(key, HEAD, given)).toBe(expected);
    expect(await backend.verify(key, HEAD, given, `v1=${expected}`)).toBe(true);
    expect(given).toEqual(given instanceof Buffer ? Buffer.from(bytes) : bytes);
  });
});

describe.each(BACKENDS)("%s verifying a text", (name, backend) => {
  const bytes = Buffer.from("{}");
  const right = signatureOf(SECRET, HEAD, bytes);
  const key = backend.importKey(SECRET);
  const isTaken = (text: string) => backend.verify(key, HEAD, bytes, text);
  const digits = right.slice(3);
  const letterAt = right.search(/[a-f]/);
  const numberAt = 3 + digits.search(/[0-9]/);

  test.each([
    ["empty", ""],
    ["8 000 characters of the right signature, repeated", right.repeat(120).slice(0, 8_000)],
    ["only the digits", digits],
    ["prefixed with v1= twice", `v1=v1=${digits}`.slice(0, 67)],
    ["67 NULs", "\0".repeat(67)],
  ])(`${name} refuses a wrong signature: %s`, async (_, text) => {
    expect(await isTaken(text)).toBe(false);
    // It is also refused directly after the right one, and twice in a row.
    expect(await isTaken(right)).toBe(true);
    expect(await isTaken(text)).toBe(false);
    expect(await isTaken(text)).toBe(false);
  });

  test.each([
    ["the v", 0],
    ["a number", numberAt],
    ["a letter", letterAt],
  ])(
    `${name} accepts only the right character, of all characters, in the place of %s`,
    async (_, at) => {
      const taken: string[] = [];
      for (let code = 0; code <= 0xffff; code++) {
        const one = String.fromCharCode(code);
        if (await isTaken(replaced(at, one)(right))) taken.push(one);
      }
      // Only the digits have two letter cases.
      const one = right.charAt(at);
      expect(taken.sort()).toEqual(at < 3 ? [one] : [...new Set([one.toUpperCase(), one])].sort());
    },
  );

  // If the text were copied into memory that still holds the previous one, the old bytes would fill
  // its gaps.
  async function takenOf(textAt: (at: number) => string): Promise<number[]> {
    const taken: number[] = [];
    for (let at = 0; at < right.length; at++) {
      expect(await isTaken(right)).toBe(true);
      if (await isTaken(textAt(at))) taken.push(at);
    }
    return taken;
  }

  test.each<[string, (at: number) => string]>([
    ["its first n characters", (n) => right.slice(0, n)],
    ["all but its first n characters", (n) => right.slice(n + 1)],
    ["its first n characters padded with NUL", (n) => right.slice(0, n).padEnd(67, "\0")],
  ])(`directly after the right signature, ${name} refuses %s`, async (_, textAt) => {
    expect(await takenOf(textAt)).toEqual([]);
  });

  test.each([
    ["two", "\u00e9"],
    ["three", "\uff16"],
    ["four", "\u{1f536}"],
  ])(
    `directly after the right signature, ${name} refuses a character of %s bytes at any position`,
    async (_, letter) => {
      const bytesOfLetter = Buffer.byteLength(letter);
      expect(await takenOf((n) => right.slice(0, n) + letter)).toEqual([]);
      // With the character count of a signature, and with its byte count.
      expect(await takenOf((n) => replaced(n, letter)(right))).toEqual([]);
      expect(
        await takenOf((n) => right.slice(0, n) + letter + right.slice(n + bytesOfLetter)),
      ).toEqual([]);
      expect(await takenOf((n) => inserted(n, letter)(right))).toEqual([]);
    },
  );

  test(`${name} refuses the signature of another message, secret or head, before and after the right one`, async () => {
    const others = [
      signatureOf(SECRET, HEAD, Buffer.from("[]")),
      signatureOf("whsec_other", HEAD, bytes),
      signatureOf(SECRET, { ...HEAD, id: "b" }, bytes),
      signatureOf(SECRET, { ...HEAD, timestamp: "1760000001" }, bytes),
    ];
    for (const other of others) {
      expect(await isTaken(other)).toBe(false);
      expect(await isTaken(right)).toBe(true);
      expect(await isTaken(other)).toBe(false);
    }
  });
});

describe.each(BACKENDS)("%s verifying a list of signatures", (name, backend) => {
  const bytes = Buffer.from("{}");
  const right = signatureOf(SECRET, HEAD, bytes);
  const wrong = signatureOf("whsec_other", HEAD, bytes);
  const capital = `v1=${right.slice(3).toUpperCase()}`;
  const near = right.slice(0, -1) + (right.endsWith("0") ? "1" : "0");

  test.each<[boolean, string, string[]]>([
    [true, "the right one first", [right, wrong]],
    [true, "the right one last, in capitals", [wrong, "v2=abc", capital]],
    [true, "the right one twice", [right, right]],
    [false, "wrong ones", [wrong, near]],
    [false, "none of a known scheme", ["v0=abc", `v2=${right.slice(3)}`]],
    [false, "more than eight", [...Array<string>(8).fill(wrong), right]],
  ])(`${name} answers %j to a list with %s`, async (expected, _, list) => {
    const key = backend.importKey(SECRET);
    for (const text of [list.join(","), list.join(" ")]) {
      expect(await backend.verify(key, HEAD, bytes, right)).toBe(true);
      expect(await backend.verify(key, HEAD, bytes, text)).toBe(expected);
    }
  });
});

test.each(BACKENDS)(
  "%s digests the UTF-8 of a text, and makes random UUIDs",
  async (_, backend) => {
    expect(await backend.sha256("\u00e5")).toBe(
      "e83979df9d36090142f23051f8e8d7ad48e5c20dff5c9e7b92ca3454f67469f9",
    );
    const [one, other] = [backend.randomUuid(), backend.randomUuid()];
    expect(one).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(one).not.toBe(other);
  },
);

function replaced(at: number, one: string) {
  return (text: string) => text.slice(0, at) + one + text.slice(at + 1);
}

function inserted(at: number, one: string) {
  return (text: string) => text.slice(0, at) + one + text.slice(at);
}

function removed(at: number, count: number) {
  return (text: string) => text.slice(0, at) + text.slice(at + count);
}
