import { createHmac } from "node:crypto";
import { backend } from "#crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { backend as node } from "../../src/crypto/node.js";
import { backend as web } from "../../src/crypto/web.js";

/**
 * RFC 4231, section 4. The cases 3, 6 and 7 have keys of 0xaa bytes, which are no UTF-8, so no secret
 * reaches them: their data is here under a key that is as long, against `node:crypto`, below.
 */
const RFC_4231 = [
  {
    name: "case 1",
    key: "\x0b".repeat(20),
    data: Buffer.from("Hi There"),
    mac: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  },
  {
    name: "case 2, a key shorter than the MAC",
    key: "Jefe",
    data: Buffer.from("what do ya want for nothing?"),
    mac: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  },
  {
    name: "case 4, a key of 25 different bytes",
    key: String.fromCharCode(...Array.from({ length: 25 }, (_, at) => at + 1)),
    data: Buffer.alloc(50, 0xcd),
    mac: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  },
  {
    name: "case 5, of which the RFC gives the first 128 bits",
    key: "\x0c".repeat(20),
    data: Buffer.from("Test With Truncation"),
    mac: "a3b6167473100ee06e0c796c2955552b",
  },
];

const LONG_KEYS = [
  { name: "case 3", length: 20, data: Buffer.alloc(50, 0xdd) },
  {
    name: "case 6, a key longer than a block",
    length: 131,
    data: Buffer.from("Test Using Larger Than Block-Size Key - Hash Key First"),
  },
  {
    name: "case 7, key and data longer than a block",
    length: 131,
    data: Buffer.from(
      "This is a test using a larger than block-size key and a larger than block-size data. " +
        "The key needs to be hashed before being used by the HMAC algorithm.",
    ),
  },
];

/** In a buffer of their own, as WebCrypto wants them. */
function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(hex, "hex"));
}

describe("RFC 4231", () => {
  test.each(RFC_4231.map((vector) => [vector.name, vector] as const))(
    "%s",
    async (_, { key, data, mac }) => {
      const signed = await backend.sign(backend.importKey(key), "", data);
      expect(signed).toHaveLength(64);
      expect(signed.slice(0, mac.length)).toBe(mac);
      expect(await backend.verify(backend.importKey(key), "", data, bytesOf(signed))).toBe(true);
    },
  );

  test.each(LONG_KEYS.map((vector) => [vector.name, vector] as const))(
    "%s, under a key of text",
    async (_, { length, data }) => {
      const key = "k".repeat(length);
      const expected = createHmac("sha256", key).update(data).digest("hex");
      expect(await backend.sign(backend.importKey(key), "", data)).toBe(expected);
    },
  );

  test("is the same wherever prefix and body meet", async () => {
    const key = backend.importKey("Jefe");
    const text = "what do ya want for nothing?";
    for (let at = 0; at <= text.length; at++) {
      const mac = await backend.sign(key, text.slice(0, at), Buffer.from(text.slice(at)));
      expect(mac).toBe("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
  });
});

describe("both backends", () => {
  const secret = fc
    .string({ unit: "binary", minLength: 1, maxLength: 200 })
    .filter((text) => Buffer.byteLength(text) <= 200);
  const prefix = fc.string({ unit: "binary", maxLength: 40 });
  const body = fc.uint8Array({ maxLength: 5_000 });

  test("make the same MAC, which is node:crypto's, and take each other's", async () => {
    await fc.assert(
      fc.asyncProperty(secret, prefix, body, async (key, head, bytes) => {
        const expected = createHmac("sha256", key).update(head).update(bytes).digest("hex");
        expect(await node.sign(node.importKey(key), head, bytes)).toBe(expected);
        expect(await web.sign(web.importKey(key), head, bytes)).toBe(expected);
        const mac = bytesOf(expected);
        expect(await node.verify(node.importKey(key), head, bytes, mac)).toBe(true);
        expect(await web.verify(web.importKey(key), head, bytes, mac)).toBe(true);
      }),
      { seed: 20_260_708, numRuns: 200 },
    );
  });

  test("refuse the same MACs", async () => {
    const flip = fc.record({ at: fc.nat(31), mask: fc.integer({ min: 1, max: 255 }) });
    await fc.assert(
      fc.asyncProperty(secret, prefix, body, flip, async (key, head, bytes, { at, mask }) => {
        const mac = bytesOf(createHmac("sha256", key).update(head).update(bytes).digest("hex"));
        mac[at] = (mac[at] ?? 0) ^ mask;
        expect(await node.verify(node.importKey(key), head, bytes, mac)).toBe(false);
        expect(await web.verify(web.importKey(key), head, bytes, mac)).toBe(false);
      }),
      { seed: 20_260_708, numRuns: 100 },
    );
  });
});

describe("a prefix is signed as UTF-8, never by its low bytes", () => {
  const body = Buffer.from("{}");
  const key = backend.importKey("whsec_test");
  const referenceOf = (prefix: string) =>
    createHmac("sha256", "whsec_test")
      .update(Buffer.from(prefix, "utf8"))
      .update(body)
      .digest("hex");

  test.each([
    ["U+0136, whose low byte is a 6", "\u0136", "6"],
    ["U+FF16, the full-width 6, whose low byte is a SYN", "\uff16", "\x16"],
    ["U+0161, whose low byte is an a", "\u0161", "a"],
    ["U+00E9, which is one byte in latin1", "\u00e9", "\u0129"],
    ["U+1F536, whose halves end in 3D and 36", "\u{1f536}", "=6"],
  ])("%s", async (_, letter, other) => {
    const [prefix, plain] = [`v1:1760000000:a${letter}:`, `v1:1760000000:a${other}:`];
    const signed = await backend.sign(key, prefix, body);
    expect(signed).toBe(referenceOf(prefix));
    expect(signed).not.toBe(referenceOf(plain));
    expect(await backend.verify(key, prefix, body, bytesOf(referenceOf(plain)))).toBe(false);
    expect(await backend.verify(key, plain, body, bytesOf(signed))).toBe(false);
    expect(await backend.verify(key, prefix, body, bytesOf(signed))).toBe(true);
  });

  test("half a surrogate pair, as the replacement character", async () => {
    expect(await backend.sign(key, "\ud83d", body)).toBe(referenceOf("\ufffd"));
  });
});

describe("a body is its bytes, whatever holds them", () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, at) => at * 3);
  const around = (larger: Uint8Array) => {
    larger.fill(0xee).set(bytes, 13);
    return larger.subarray(13, 13 + bytes.length);
  };

  test.each<[string, Uint8Array]>([
    ["a Uint8Array", bytes],
    ["a part of a larger Uint8Array", around(new Uint8Array(300))],
    ["a Buffer", Buffer.from(bytes)],
    ["a part of a Buffer", around(Buffer.alloc(300))],
    ["a part of Node's pool of small buffers", around(Buffer.allocUnsafe(300))],
    ["memory that threads share", around(new Uint8Array(new SharedArrayBuffer(300)))],
  ])("%s", async (_, body) => {
    const expected = createHmac("sha256", "whsec_test").update("p").update(bytes).digest("hex");
    const key = backend.importKey("whsec_test");
    expect(await backend.sign(key, "p", body)).toBe(expected);
    expect(await backend.verify(key, "p", body, bytesOf(expected))).toBe(true);
    expect(body).toEqual(body instanceof Buffer ? Buffer.from(bytes) : bytes);
  });
});
