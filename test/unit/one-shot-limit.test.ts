import * as nodeCrypto from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createNodeBackend } from "../../src/crypto/node.js";
import { createOneShotHmac, type OneShotHash } from "../../src/crypto/one-shot-hmac.js";

const hash: OneShotHash = nodeCrypto.hash;
const MAX_MESSAGE_BYTES = 32_768;

afterEach(() => {
  vi.restoreAllMocks();
});

function bytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => at);
}

function referenceOf(secret: string, prefix: string, body: Uint8Array): string {
  return nodeCrypto.createHmac("sha256", secret).update(prefix).update(body).digest("hex");
}

describe("how often the one-shot hash is asked", () => {
  const prefix = "v1:1:a:";
  const room = MAX_MESSAGE_BYTES - 3 * prefix.length;

  test.each([
    ["an empty message", "", 0, 2],
    ["1 KB", prefix, 1_024, 2],
    ["the largest that fits whatever letters the prefix has", prefix, room, 2],
    ["a byte more", prefix, room + 1, 0],
    ["32 KiB without a prefix", "", MAX_MESSAGE_BYTES, 2],
    ["a byte more than 32 KiB", "", MAX_MESSAGE_BYTES + 1, 0],
    ["1 MB", prefix, 1_048_576, 0],
  ])("for %s", (_, head, size, hashes) => {
    const spied = vi.fn(hash);
    const node = createNodeBackend(spied);
    const key = node.importKey("whsec_test");
    // Without those by which it was tried whether the hash is right.
    spied.mockClear();
    expect(node.sign(key, head, bytes(size))).toBe(referenceOf("whsec_test", head, bytes(size)));
    expect(spied).toHaveBeenCalledTimes(hashes);
  });

  test.each([
    ["of 64 bytes as it is", 64, 0],
    ["of 65 bytes by its hash", 65, 1],
  ])("a key %s", (_, length, hashes) => {
    const spied = vi.fn(hash);
    const node = createNodeBackend(spied);
    spied.mockClear();
    node.importKey("k".repeat(length));
    expect(spied).toHaveBeenCalledTimes(hashes);
  });

  class Longer extends Uint8Array {
    override get length() {
      return 5;
    }
  }
  const transferred = bytes(64);
  structuredClone(transferred, { transfer: [transferred.buffer as ArrayBuffer] });

  test.each<[string, Uint8Array, string, number]>([
    ["a Buffer", Buffer.from("0123456789"), "0123456789", 2],
    ["a Uint8Array whose memory was transferred", transferred, "", 2],
    ["a subclass", Object.setPrototypeOf(bytes(0), Longer.prototype) as Longer, "", 0],
    ["a subclass that hides bytes", new Longer(Buffer.from("0123456789")), "0123456789", 0],
    [
      "an array with a length of its own",
      Object.defineProperty(Buffer.from("0123456789"), "length", { value: 5 }),
      "0123456789",
      0,
    ],
  ])("for %s", (_, body, text, hashes) => {
    const spied = vi.fn(hash);
    const node = createNodeBackend(spied);
    const key = node.importKey("whsec_test");
    spied.mockClear();
    expect(node.sign(key, prefix, body)).toBe(referenceOf("whsec_test", prefix, Buffer.from(text)));
    expect(spied).toHaveBeenCalledTimes(hashes);
  });
});

describe("the one-shot hash is tried first, and left alone where it would be wrong", () => {
  /** Whether a backend made now uses its hash. What it signs once all is well again has to be right. */
  function isUsed(given: OneShotHash): boolean {
    const spied = vi.fn(given);
    const node = createNodeBackend(spied);
    vi.restoreAllMocks();
    spied.mockClear();
    const signed = node.sign(node.importKey("k".repeat(100)), "v1:1:a:", bytes(1_000));
    expect(signed).toBe(referenceOf("k".repeat(100), "v1:1:a:", bytes(1_000)));
    return spied.mock.calls.length > 0;
  }

  test("and used where it is right", () => {
    expect(isUsed(hash)).toBe(true);
  });

  test.each<[string, OneShotHash]>([
    [
      "that throws",
      () => {
        throw new Error("no such algorithm");
      },
    ],
    ["that gives nothing", () => ""],
    ["that gives hexadecimal", (algorithm, data) => nodeCrypto.hash(algorithm, data, "hex")],
    ["of another kind", (_, data) => nodeCrypto.hash("sha512", data, "binary")],
    [
      "that drops the high bit of each byte",
      (...call) => Buffer.from(hash(...call), "latin1").toString("ascii"),
    ],
  ])("a hash %s", (_, given) => {
    expect(isUsed(given)).toBe(false);
  });

  type Writer = (this: Buffer, text: string, start: number, length: number) => number;
  const writers = Buffer.prototype as unknown as { utf8Write: Writer; latin1Write: Writer };
  const { utf8Write, latin1Write } = writers;

  test.each<[string, keyof typeof writers, Writer]>([
    [
      "UTF-8 by throwing",
      "utf8Write",
      () => {
        throw new TypeError("not a function");
      },
    ],
    ["UTF-8 as low bytes", "utf8Write", latin1Write],
    ["UTF-8 and tells no length", "utf8Write", () => 0],
    [
      "UTF-8 and tells the characters for the bytes",
      "utf8Write",
      function (text, ...place) {
        utf8Write.call(this, text, ...place);
        return text.length;
      },
    ],
    ["latin1 as UTF-8", "latin1Write", utf8Write],
    [
      "latin1 in seven bits",
      "latin1Write",
      function (text, ...place) {
        const ascii = Array.from(text, (one) => String.fromCharCode(one.charCodeAt(0) & 0x7f));
        return latin1Write.call(this, ascii.join(""), ...place);
      },
    ],
    ["latin1 not at all", "latin1Write", () => 0],
  ])("a Buffer that writes %s", (_, writer, wrong) => {
    vi.spyOn(writers, writer).mockImplementation(wrong);
    expect(isUsed(hash)).toBe(false);
  });
});

describe("what is kept from one message to the next", () => {
  test("is the view of each length, until one that is 1 024 bytes longer or shorter takes its place", () => {
    const spied = vi.fn(hash);
    const hmac = createOneShotHmac(spied);
    const key = hmac.padKey(bytes(20));
    const viewOf = (length: number) => {
      spied.mockClear();
      hmac.mac(key, "", bytes(length));
      return spied.mock.calls[0]?.[1];
    };
    const views = [0, 1, 2, 3, 4, 64, 512, 1_023].map(
      (length) => [length, viewOf(length)] as const,
    );
    for (const [length, view] of views) expect(viewOf(length), String(length)).toBe(view);
    viewOf(1_026);
    for (const [length, view] of views) expect(viewOf(length) === view).toBe(length !== 2);
  });

  test("is the padded secret, until there is a message under another", () => {
    const hmac = createOneShotHmac(hash);
    const { inner, outer } = hmac.padKey(bytes(20));
    let reads = 0;
    const key = {
      get inner() {
        reads += 1;
        return inner;
      },
      outer,
    };
    for (let n = 0; n < 5; n++) hmac.mac(key, "", bytes(n));
    expect(reads).toBe(1);
    hmac.mac(hmac.padKey(bytes(21)), "", bytes(10));
    hmac.mac(key, "", bytes(10));
    expect(reads).toBe(2);
  });
});
