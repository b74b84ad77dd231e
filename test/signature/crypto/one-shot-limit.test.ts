import * as nodeCrypto from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { createNodeBackend } from "../../../src/signature/crypto/node.js";
import {
  createOneShotHmac,
  type HeadWriter,
  type OneShotHash,
} from "../../../src/signature/crypto/one-shot-hmac.js";
import {
  MAX_HEAD_BYTES,
  headText,
  writeHead,
  type SignedHead,
} from "../../../src/signature/crypto/signed-head.js";
import { throwing } from "../../support/faults.js";

const hash: OneShotHash = nodeCrypto.hash;
const MAX_MESSAGE_BYTES = 32_768;
const NO_HEAD: HeadWriter<undefined> = { maxBytes: 0, write: (_head, _bytes, at) => at };
const HEAD: SignedHead = { timestamp: "1", id: "a" };
const LONGEST: SignedHead = { timestamp: "9".repeat(12), id: "z".repeat(128) };

function bytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => at);
}

function referenceOf(secret: string, head: SignedHead, body: Uint8Array): string {
  const hmac = nodeCrypto.createHmac("sha256", secret).update(headText(head), "utf8");
  return hmac.update(body).digest("hex");
}

describe("the number of one-shot hashes", () => {
  const room = MAX_MESSAGE_BYTES - MAX_HEAD_BYTES;

  test.each<[string, SignedHead, number, number]>([
    ["an empty body", HEAD, 0, 2],
    ["1 KB", HEAD, 1_024, 2],
    ["the largest body that fits after any head, after a short head", HEAD, room, 2],
    ["one byte more", HEAD, room + 1, 0],
    ["the largest body after the longest head", LONGEST, room, 2],
    ["one byte more after the longest head", LONGEST, room + 1, 0],
    ["32 KiB", HEAD, MAX_MESSAGE_BYTES, 0],
    ["1 MB", HEAD, 1_048_576, 0],
    ["a head longer than a delivery's", { ...LONGEST, id: "z".repeat(129) }, 10, 0],
    ["an id that is not ASCII", { ...HEAD, id: "\u0136" }, 10, 0],
    ["a timestamp that is not ASCII", { ...HEAD, timestamp: "\uff16" }, 10, 0],
  ])("a MAC takes the expected number of one-shot hashes: %s", (_, head, size, hashes) => {
    const spied = vi.fn(hash);
    const node = createNodeBackend(spied);
    const key = node.importKey("whsec_test");
    // Leaves out the calls that checked whether the hash works.
    spied.mockClear();
    expect(node.sign(key, head, bytes(size))).toBe(referenceOf("whsec_test", head, bytes(size)));
    expect(spied).toHaveBeenCalledTimes(hashes);
  });

  test("the limit of the one-shot form counts the maximum size of a head, not its actual size", () => {
    const spied = vi.fn(hash);
    const hashesFor = (maxBytes: number, size: number) => {
      const hmac = createOneShotHmac(spied, { ...NO_HEAD, maxBytes });
      const key = hmac.padKey(bytes(20));
      spied.mockClear();
      const mac = hmac.mac(key, undefined, bytes(size));
      const right = nodeCrypto.createHmac("sha256", bytes(20)).update(bytes(size)).digest("hex");
      expect(mac).toBe(spied.mock.calls.length === 0 ? undefined : right);
      return spied.mock.calls.length;
    };
    expect(hashesFor(0, MAX_MESSAGE_BYTES)).toBe(2);
    expect(hashesFor(0, MAX_MESSAGE_BYTES + 1)).toBe(0);
    expect(hashesFor(1_000, MAX_MESSAGE_BYTES - 1_000)).toBe(2);
    expect(hashesFor(1_000, MAX_MESSAGE_BYTES - 999)).toBe(0);
  });

  test("a head that its writer refuses takes no one-shot hash and gives undefined", () => {
    const spied = vi.fn(hash);
    const write = vi.fn(writeHead);
    const hmac = createOneShotHmac(spied, { maxBytes: MAX_HEAD_BYTES, write });
    const key = hmac.padKey(bytes(20));
    for (const head of [
      { ...HEAD, id: "\u0136" },
      { ...HEAD, timestamp: "1\u0136" },
      { ...LONGEST, id: `${"z".repeat(127)}\u00e9` },
      { ...LONGEST, id: "z".repeat(129) },
    ]) {
      expect(hmac.mac(key, head, bytes(10))).toBeUndefined();
      expect(write).toHaveLastReturnedWith(undefined);
    }
    expect(write).toHaveBeenCalledTimes(4);
    expect(spied).not.toHaveBeenCalled();
  });

  test.each([
    ["64 bytes, used unchanged", 64, 0],
    ["65 bytes, hashed first", 65, 1],
  ])("a key takes the expected number of one-shot hashes: %s", (_, length, hashes) => {
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

  const shared = new Uint8Array(new SharedArrayBuffer(10));
  shared.set(Buffer.from("0123456789"));

  test.each<[string, Uint8Array, string, number]>([
    ["a Buffer", Buffer.from("0123456789"), "0123456789", 2],
    ["a part of a Buffer", Buffer.from("--0123456789--").subarray(2, 12), "0123456789", 2],
    ["memory that threads share", shared, "0123456789", 2],
    ["a Uint8Array whose memory was transferred", transferred, "", 2],
    ["a subclass", Object.setPrototypeOf(bytes(0), Longer.prototype) as Longer, "", 0],
    ["a subclass that hides bytes", new Longer(Buffer.from("0123456789")), "0123456789", 0],
    [
      "an array with a length of its own",
      Object.defineProperty(Buffer.from("0123456789"), "length", { value: 5 }),
      "0123456789",
      0,
    ],
  ])("a body takes the expected number of one-shot hashes: %s", (_, body, text, hashes) => {
    const spied = vi.fn(hash);
    const node = createNodeBackend(spied);
    const key = node.importKey("whsec_test");
    spied.mockClear();
    expect(node.sign(key, HEAD, body)).toBe(referenceOf("whsec_test", HEAD, Buffer.from(text)));
    expect(spied).toHaveBeenCalledTimes(hashes);
    // The one-shot form leaves a body that is not plain bytes to createHmac.
    const hmac = createOneShotHmac(hash, { maxBytes: MAX_HEAD_BYTES, write: writeHead });
    const mac = hmac.mac(hmac.padKey(Buffer.from("whsec_test")), HEAD, body);
    const right = referenceOf("whsec_test", HEAD, Buffer.from(text));
    expect(mac).toBe(hashes === 0 ? undefined : right);
  });
});

describe("the check of the one-shot hash", () => {
  /**
   * Whether a backend made now uses its hash. Its signature must be right after the faults are
   * gone.
   */
  function isUsed(given: OneShotHash): boolean {
    const spied = vi.fn(given);
    const node = createNodeBackend(spied);
    vi.restoreAllMocks();
    spied.mockClear();
    const signed = node.sign(node.importKey("k".repeat(100)), HEAD, bytes(1_000));
    expect(signed).toBe(referenceOf("k".repeat(100), HEAD, bytes(1_000)));
    return spied.mock.calls.length > 0;
  }

  function upperOf(call: Parameters<OneShotHash>): string {
    return hash(...call).toUpperCase();
  }

  test("the one-shot hash is used if it works", () => {
    expect(isUsed(hash)).toBe(true);
  });

  test.each<[string, OneShotHash]>([
    ["that throws", throwing(new Error("no such algorithm"))],
    ["that returns nothing", () => ""],
    ["that returns hexadecimal only", (algorithm, data) => hash(algorithm, data, "hex")],
    ["that returns single bytes only", (algorithm, data) => hash(algorithm, data, "binary")],
    [
      "that returns upper-case digits",
      (...call) => (call[2] === "hex" ? upperOf(call) : hash(...call)),
    ],
    [
      "that returns one digit too few",
      (...call) => hash(...call).slice(0, call[2] === "hex" ? 63 : 32),
    ],
    ["of another kind", (_, data, encoding) => nodeCrypto.hash("sha512", data, encoding)],
    [
      "that throws only for digits",
      (...call) => {
        if (call[2] === "hex") throw new Error("no such encoding");
        return hash(...call);
      },
    ],
    [
      // Every message is longer, because of the padded secret in front. Only a long secret itself
      // is this short.
      "that is wrong only for a secret longer than a block",
      (...call) => (call[1].length < 80 ? hash(...call).toUpperCase() : hash(...call)),
    ],
    [
      "that reads the message as text",
      (algorithm, data, encoding) =>
        hash(algorithm, Buffer.from(Buffer.from(data).toString()), encoding),
    ],
    [
      "that drops the high bit of each byte",
      (...call) => Buffer.from(hash(...call), "latin1").toString("ascii"),
    ],
  ])("a one-shot hash %s is not used", (_, given) => {
    expect(isUsed(given)).toBe(false);
  });

  type Writer = (this: Buffer, text: string, start: number, length: number) => number;
  const writers = Buffer.prototype as unknown as { utf8Write: Writer; latin1Write: Writer };
  const { utf8Write, latin1Write } = writers;

  test.each<[string, Writer]>([
    ["by throwing", throwing(new TypeError("not a function"))],
    ["as UTF-8", utf8Write],
    [
      "in seven bits",
      function (text, ...place) {
        const ascii = Array.from(text, (one) => String.fromCharCode(one.charCodeAt(0) & 0x7f));
        return latin1Write.call(this, ascii.join(""), ...place);
      },
    ],
    [
      "one position too far",
      function (text, start, length) {
        return latin1Write.call(this, text, start + 1, length - 1);
      },
    ],
    [
      "always at the start",
      function (text, _start, length) {
        return latin1Write.call(this, text, 0, length);
      },
    ],
    [
      "without the last byte",
      function (text, start, length) {
        return latin1Write.call(this, text, start, length - 1);
      },
    ],
    ["not at all", () => 0],
  ])("the one-shot hash is not used if a Buffer writes latin1 %s", (_, wrong) => {
    vi.spyOn(writers, "latin1Write").mockImplementation(wrong);
    expect(isUsed(hash)).toBe(false);
  });
});

describe("the memory between two messages", () => {
  test("the view of a length is kept until a message that is 1 024 bytes longer or shorter replaces it", () => {
    const spied = vi.fn(hash);
    const hmac = createOneShotHmac(spied, NO_HEAD);
    const key = hmac.padKey(bytes(20));
    const viewOf = (length: number) => {
      spied.mockClear();
      hmac.mac(key, undefined, bytes(length));
      return spied.mock.calls[0]?.[1];
    };
    const views = [0, 1, 2, 3, 4, 64, 512, 1_023].map(
      (length) => [length, viewOf(length)] as const,
    );
    for (const [length, view] of views) expect(viewOf(length), String(length)).toBe(view);
    viewOf(1_026);
    for (const [length, view] of views) expect(viewOf(length) === view).toBe(length !== 2);
  });

  test("the padded secret is kept until a message has another secret", () => {
    const hmac = createOneShotHmac(hash, NO_HEAD);
    const { inner, outer } = hmac.padKey(bytes(20));
    let reads = 0;
    const key = {
      get inner() {
        reads += 1;
        return inner;
      },
      outer,
    };
    for (let n = 0; n < 5; n++) hmac.mac(key, undefined, bytes(n));
    expect(reads).toBe(1);
    hmac.mac(hmac.padKey(bytes(21)), undefined, bytes(10));
    hmac.mac(key, undefined, bytes(10));
    expect(reads).toBe(2);
  });
});
