import * as nodeCrypto from "node:crypto";
import { describe, expect, test } from "vitest";
import { createNodeBackend } from "../../src/crypto/node.js";
import { createOneShotHmac, type OneShotHash } from "../../src/crypto/one-shot-hmac.js";

// The parts of `createNodeBackend`, whichever backend the project's `#crypto` is.

const hash: OneShotHash = nodeCrypto.hash;
const MAX_MESSAGE_BYTES = 32_768;
const WAYS = [
  ["one-shot hashes", hash],
  ["createHmac alone", undefined],
] as const;

/** What `node:crypto` gives, as an independent reference. */
function referenceOf(key: string | Uint8Array, prefix: string, body: Uint8Array): Buffer {
  return nodeCrypto.createHmac("sha256", key).update(prefix, "utf8").update(body).digest();
}

/** Bytes that differ from length to length and place to place. */
function bytesOf(length: number, salt = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 31 + (at >>> 8) * 7 + length + salt) & 0xff;
  return bytes;
}

/** Whether `sign` and `verify` of a backend agree with the reference, and tell one bit apart. */
function judge(
  node: ReturnType<typeof createNodeBackend>,
  secret: string,
  prefix: string,
  body: Uint8Array,
): boolean {
  const key = node.importKey(secret);
  const mac = new Uint8Array(referenceOf(Buffer.from(secret), prefix, body));
  const wrong = mac.slice();
  wrong[body.length % 32] = (wrong[body.length % 32] ?? 0) ^ 1;
  return (
    node.sign(key, prefix, body) === Buffer.from(mac).toString("hex") &&
    node.verify(key, prefix, body, mac) === true &&
    node.verify(key, prefix, body, wrong) === false
  );
}

/** RFC 4231, section 4: key and data in hexadecimal, and the first 64 bits of the MAC. */
const RFC_4231 = [
  [1, "0b".repeat(20), hexOf("Hi There"), "b0344c61d8db3853"],
  [2, hexOf("Jefe"), hexOf("what do ya want for nothing?"), "5bdcc146bf60754e"],
  [3, "aa".repeat(20), "dd".repeat(50), "773ea91e36800e46"],
  [4, "0102030405060708090a0b0c0d0e0f10111213141516171819", "cd".repeat(50), "82558a389a443c0e"],
  [5, "0c".repeat(20), hexOf("Test With Truncation"), "a3b6167473100ee0"],
  [
    6,
    "aa".repeat(131),
    hexOf("Test Using Larger Than Block-Size Key - Hash Key First"),
    "60e431591ee0b67f",
  ],
  [
    7,
    "aa".repeat(131),
    hexOf(
      "This is a test using a larger than block-size key and a larger than block-size data. " +
        "The key needs to be hashed before being used by the HMAC algorithm.",
    ),
    "9b09ffa71b942fcb",
  ],
] as const;

describe("RFC 4231, under its very keys", () => {
  test.each(RFC_4231)("case %i", (_, keyHex, dataHex, first64Bits) => {
    const key = Buffer.from(keyHex, "hex");
    const data = Buffer.from(dataHex, "hex");
    const hmac = createOneShotHmac(hash);
    const mac = hmac.mac(hmac.padKey(key), "", data);
    const hex = mac?.toString("hex");
    expect(hex).toBe(referenceOf(key, "", data).toString("hex"));
    expect(hex?.slice(0, 16)).toBe(first64Bits);
  });
});

describe.each(WAYS)("by %s, createNodeBackend agrees with createHmac", (_, given) => {
  const node = createNodeBackend(given);
  const prefix = "v1:1760000000:3f2504e0-4f89-41d3-9a0c-0305e82c3301:";

  // The others' keys are no UTF-8, so that no secret gives them.
  test.each(RFC_4231.filter(([, keyHex]) => !keyHex.startsWith("aa")))(
    "on case %i of RFC 4231",
    (_, keyHex, dataHex, first64Bits) => {
      const secret = Buffer.from(keyHex, "hex").toString();
      const data = Buffer.from(dataHex, "hex");
      expect(judge(node, secret, "", data)).toBe(true);
      expect(node.sign(node.importKey(secret), "", data)).toMatch(new RegExp(`^${first64Bits}`));
    },
  );

  // From none: no secret is empty, as `secret` is refused then, but both ways take such a key.
  test("on keys of each length from 0 to 200 bytes", () => {
    const off: number[] = [];
    for (let length = 0; length <= 200; length++) {
      const key = Buffer.from(bytesOf(length).map((byte) => byte & 0x7f)).toString();
      const agrees = [0, 1, 64, 1_000].every((size) => judge(node, key, prefix, bytesOf(size)));
      if (!agrees) off.push(length);
    }
    expect(off).toEqual([]);
  });

  test("on keys of letters that take two, three and four bytes", () => {
    for (const letter of ["Å", "€", "🔐"]) {
      for (let count = 1; count <= 40; count++) {
        expect(judge(node, letter.repeat(count), prefix, bytesOf(count)), letter).toBe(true);
      }
    }
  });

  test("on messages of each length about a block, and about the end of the one-shot form", () => {
    const lengths = [
      ...range(0, 200),
      ...range(1_000, 1_100),
      ...range(
        MAX_MESSAGE_BYTES - 3 * prefix.length - 10,
        MAX_MESSAGE_BYTES - 3 * prefix.length + 10,
      ),
      ...range(MAX_MESSAGE_BYTES - prefix.length - 3, MAX_MESSAGE_BYTES - prefix.length + 3),
      ...range(MAX_MESSAGE_BYTES - 70, MAX_MESSAGE_BYTES + 70),
      65_535,
      65_536,
      65_537,
      70_000,
    ];
    const off = lengths.filter((length) =>
      ["", prefix].some((head) => !judge(node, "whsec_test", head, bytesOf(length))),
    );
    expect(off).toEqual([]);
  });

  test("on prefixes of letters that take one to four bytes, up to the last byte of the scratch", () => {
    for (const unit of ["a", "Å", "\u0136", "€", "\uffff", "🔐", "\ud83d"]) {
      for (const count of [1, 21, 64, 128, 5_000, 10_922]) {
        const head = unit.repeat(count);
        const room = MAX_MESSAGE_BYTES - 3 * head.length;
        for (const size of [0, room - 1, room, room + 1]) {
          if (size < 0) continue;
          expect(judge(node, "whsec_test", head, bytesOf(size)), `${unit} ${count}`).toBe(true);
        }
      }
    }
  });
});

function hexOf(text: string): string {
  return Buffer.from(text).toString("hex");
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
