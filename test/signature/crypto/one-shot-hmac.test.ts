import * as nodeCrypto from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNodeBackend } from "../../../src/signature/crypto/node.js";
import {
  createOneShotHmac,
  type HeadWriter,
  type OneShotHash,
} from "../../../src/signature/crypto/one-shot-hmac.js";
import {
  MAX_HEAD_BYTES,
  headText,
  type SignedHead,
} from "../../../src/signature/crypto/signed-head.js";

// The parts of `createNodeBackend`, whichever backend `#crypto` is in this project.

const hash: OneShotHash = nodeCrypto.hash;
const MAX_MESSAGE_BYTES = 32_768;
/** The longest body of the one-shot form, even with a short head. */
const MAX_BODY_BYTES = MAX_MESSAGE_BYTES - MAX_HEAD_BYTES;
/** The seven MACs of RFC 4231 cover only a body. */
const NO_HEAD: HeadWriter<undefined> = { maxBytes: 0, write: (_head, _bytes, at) => at };
const HEAD: SignedHead = { timestamp: "1760000000", id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301" };
const SHORTEST: SignedHead = { timestamp: "1", id: "a" };
const LONGEST: SignedHead = { timestamp: "9".repeat(12), id: "z".repeat(128) };
const WAYS = [
  ["one-shot hashes", hash],
  ["createHmac only", undefined],
] as const;

/** The signature of `node:crypto`, as an independent reference. */
function referenceOf(key: string | Uint8Array, head: string, body: Uint8Array): string {
  return nodeCrypto.createHmac("sha256", key).update(head, "utf8").update(body).digest("hex");
}

/** Bytes that differ by length and by position. */
function bytesOf(length: number, salt = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 31 + (at >>> 8) * 7 + length + salt) & 0xff;
  return bytes;
}

/** Whether `sign` and `verify` of a backend agree with the reference and detect one wrong bit. */
function judge(
  node: ReturnType<typeof createNodeBackend>,
  secret: string,
  head: SignedHead,
  body: Uint8Array,
): boolean {
  const key = node.importKey(secret);
  const mac = referenceOf(Buffer.from(secret), headText(head), body);
  const wrong = Buffer.from(mac, "hex");
  wrong[body.length % 32] = (wrong[body.length % 32] ?? 0) ^ 1;
  return (
    node.sign(key, head, body) === mac &&
    node.verify(key, head, body, `v1=${mac}`) === true &&
    node.verify(key, head, body, `v1=${mac.toUpperCase()}`) === true &&
    node.verify(key, head, body, `v1=${wrong.toString("hex")}`) === false
  );
}

/**
 * RFC 4231, section 4: key and data in hexadecimal, and the MAC. The MAC of case 5 has 128 bits.
 */
const RFC_4231 = [
  [
    1,
    "0b".repeat(20),
    hexOf("Hi There"),
    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  ],
  [
    2,
    hexOf("Jefe"),
    hexOf("what do ya want for nothing?"),
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  [
    3,
    "aa".repeat(20),
    "dd".repeat(50),
    "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
  ],
  [
    4,
    "0102030405060708090a0b0c0d0e0f10111213141516171819",
    "cd".repeat(50),
    "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  ],
  [5, "0c".repeat(20), hexOf("Test With Truncation"), "a3b6167473100ee06e0c796c2955552b"],
  [
    6,
    "aa".repeat(131),
    hexOf("Test Using Larger Than Block-Size Key - Hash Key First"),
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  ],
  [
    7,
    "aa".repeat(131),
    hexOf(
      "This is a test using a larger than block-size key and a larger than block-size data. " +
        "The key needs to be hashed before being used by the HMAC algorithm.",
    ),
    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
  ],
] as const;

describe("the original keys and data of RFC 4231", () => {
  test.each(RFC_4231)(
    "the one-shot HMAC makes the MAC of RFC 4231, case %i",
    (_, keyHex, dataHex, expected) => {
      const key = Buffer.from(keyHex, "hex");
      const data = Buffer.from(dataHex, "hex");
      const hmac = createOneShotHmac(hash, NO_HEAD);
      const mac = hmac.mac(hmac.padKey(key), undefined, data);
      expect(mac).toBe(referenceOf(key, "", data));
      expect(mac?.slice(0, expected.length)).toBe(expected);
    },
  );

  test.each(RFC_4231)(
    "the one-shot HMAC makes the MAC of RFC 4231, case %i, wherever the head ends in its data",
    (_, ...vector) => {
      const [key, data] = [Buffer.from(vector[0], "hex"), Buffer.from(vector[1], "hex")];
      const hmac = createOneShotHmac<Uint8Array>(hash, {
        maxBytes: data.length,
        write: (head, bytes, at) => {
          bytes.set(head, at);
          return at + head.length;
        },
      });
      const padded = hmac.padKey(key);
      for (let at = 0; at <= data.length; at++) {
        const mac = hmac.mac(padded, data.subarray(0, at), data.subarray(at));
        expect(mac?.slice(0, vector[2].length), String(at)).toBe(vector[2]);
      }
    },
  );
});

test("as a property, createOneShotHmac agrees with createHmac on keys of 0 to 200 bytes and messages of up to 32 KiB, and declines longer messages", () => {
  const hmac = createOneShotHmac(hash, NO_HEAD);
  const length = fc.oneof(
    fc.nat(300),
    fc.nat(70_000),
    fc.integer({ min: MAX_MESSAGE_BYTES - 100, max: MAX_MESSAGE_BYTES + 100 }),
  );
  const key = fc.uint8Array({ maxLength: 200, size: "max" });
  fc.assert(
    fc.property(key, length, fc.nat(255), (secret, size, salt) => {
      const body = bytesOf(size, salt);
      const expected = size > MAX_MESSAGE_BYTES ? undefined : referenceOf(secret, "", body);
      expect(hmac.mac(hmac.padKey(secret), undefined, body)).toBe(expected);
    }),
    { seed: 20_260_708, numRuns: 400 },
  );
});

describe.each(WAYS)("by %s, createNodeBackend agrees with createHmac", (way, given) => {
  const node = createNodeBackend(given);

  // The keys of the other cases are not UTF-8, so no secret has their bytes. All data has a head
  // before it.
  test.each(RFC_4231.filter(([, keyHex]) => !keyHex.startsWith("aa")))(
    `by ${way}, createNodeBackend agrees with createHmac on key and data of RFC 4231, case %i`,
    (_, keyHex, dataHex) => {
      const secret = Buffer.from(keyHex, "hex").toString();
      expect(judge(node, secret, HEAD, Buffer.from(dataHex, "hex"))).toBe(true);
    },
  );

  // Starts at 0 bytes: the `secret` option refuses an empty secret, but both ways accept such a
  // key.
  test(`by ${way}, createNodeBackend agrees with createHmac on keys of each length from 0 to 200 bytes`, () => {
    const off: number[] = [];
    for (let length = 0; length <= 200; length++) {
      const key = Buffer.from(bytesOf(length).map((byte) => byte & 0x7f)).toString();
      const agrees = [0, 1, 64, 1_000].every((size) => judge(node, key, HEAD, bytesOf(size)));
      if (!agrees) off.push(length);
    }
    expect(off).toEqual([]);
  });

  test(`by ${way}, createNodeBackend agrees with createHmac on keys of letters of two, three and four bytes`, () => {
    for (const letter of ["Å", "€", "🔐"]) {
      for (let count = 1; count <= 40; count++) {
        expect(judge(node, letter.repeat(count), HEAD, bytesOf(count)), letter).toBe(true);
      }
    }
  });

  test(`by ${way}, createNodeBackend agrees with createHmac on messages of each length near a block and near the limit of the one-shot form`, () => {
    const headBytes = headText(HEAD).length;
    const lengths = [
      ...range(0, 200),
      ...range(1_000, 1_100),
      ...range(MAX_BODY_BYTES - 10, MAX_BODY_BYTES + 10),
      ...range(MAX_MESSAGE_BYTES - headBytes - 3, MAX_MESSAGE_BYTES - headBytes + 3),
      ...range(MAX_MESSAGE_BYTES - 70, MAX_MESSAGE_BYTES + 70),
      65_535,
      65_536,
      65_537,
      70_000,
    ];
    const off = lengths.filter((length) =>
      [SHORTEST, HEAD, LONGEST].some((head) => !judge(node, "whsec_test", head, bytesOf(length))),
    );
    expect(off).toEqual([]);
  });

  test(`by ${way}, createNodeBackend agrees with createHmac on heads of each length, up to the last byte of the scratch buffer and beyond`, () => {
    const off: string[] = [];
    for (let length = 0; length <= 160; length++) {
      const head = { timestamp: "1760000000", id: "x".repeat(length) };
      for (const size of [0, MAX_BODY_BYTES - 1, MAX_BODY_BYTES, MAX_BODY_BYTES + 1]) {
        if (!judge(node, "whsec_test", head, bytesOf(size))) off.push(`${length} ${size}`);
      }
    }
    expect(off).toEqual([]);
  });

  test(`by ${way}, createNodeBackend agrees with createHmac on heads of letters of one to four bytes, few and many`, () => {
    for (const unit of ["a", "Å", "\u0136", "€", "\uffff", "🔐", "\ud83d"]) {
      for (const count of [1, 21, 64, 128, 5_000, 10_922]) {
        const text = unit.repeat(count);
        const heads = [
          { timestamp: "1760000000", id: text },
          { timestamp: text, id: "a" },
        ];
        for (const size of [0, 1, 1_000, MAX_BODY_BYTES, MAX_BODY_BYTES + 1]) {
          const agrees = heads.every((head) => judge(node, "whsec_test", head, bytesOf(size)));
          expect(agrees, `${unit} ${count} ${size}`).toBe(true);
        }
      }
    }
  });

  test(`as a property, by ${way}, createNodeBackend agrees with createHmac on keys of 0 to 200 letters and messages of up to 70 000 bytes`, () => {
    const head = fc.record({
      timestamp: fc.stringMatching(/^[0-9]{1,12}$/),
      id: fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/),
    });
    const secret = fc.string({ unit: "binary", maxLength: 200, size: "max" });
    fc.assert(
      fc.property(secret, head, fc.nat(70_000), fc.nat(255), (text, signedHead, size, salt) => {
        expect(judge(node, text, signedHead, bytesOf(size, salt))).toBe(true);
      }),
      { seed: 20_260_708, numRuns: 150 },
    );
  });
});

function hexOf(text: string): string {
  return Buffer.from(text).toString("hex");
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
