import * as nodeCrypto from "node:crypto";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
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

// The parts of `createNodeBackend`, whichever backend `#crypto` is in this project.

const hash: OneShotHash = nodeCrypto.hash;
const MAX_MESSAGE_BYTES = 32_768;
/** The longest body of the one-shot form, even with a short head. */
const MAX_BODY_BYTES = MAX_MESSAGE_BYTES - MAX_HEAD_BYTES;
const NO_HEAD: HeadWriter<undefined> = { maxBytes: 0, write: (_head, _bytes, at) => at };
const DELIVERY_HEAD = { maxBytes: MAX_HEAD_BYTES, write: writeHead };
// Frozen, because signing must not write to its arguments.
const HEAD: SignedHead = Object.freeze({ timestamp: "1760000000", id: "a" });
const LONGEST: SignedHead = Object.freeze({ timestamp: "9".repeat(12), id: "z".repeat(128) });
/** Its last character makes it invalid, when all other bytes are already in the scratch buffer. */
const REFUSED_AT_ITS_END: SignedHead = { ...LONGEST, id: `${"z".repeat(127)}\u0136` };
const REFUSED_AS_TOO_LONG: SignedHead = { ...LONGEST, id: "z".repeat(129) };
const SECRETS = ["first", "second", "s".repeat(64), "longer than a block ".repeat(4)];

/** The MAC of `node:crypto`, as an independent reference. */
function macOf(key: string | Uint8Array, head: SignedHead | undefined, body: Uint8Array): string {
  const hmac = nodeCrypto.createHmac("sha256", key);
  return hmac
    .update(head === undefined ? "" : headText(head))
    .update(body)
    .digest("hex");
}

/** Bytes that differ by length and by position. */
function bytesOf(length: number, salt = 0): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, at) => at * 31 + (at >>> 8) * 7 + length + salt);
}

/** A hash that counts its calls from now on, and a backend that uses it. */
function countingBackend(given = hash) {
  const spied = vi.fn(given);
  const node = createNodeBackend(spied);
  // Leaves out the calls that checked whether the hash works.
  spied.mockClear();
  return { node, spied };
}

/** A backend with a scratch buffer of its own, and a check that its MAC is right. */
function checkedBackend(given: OneShotHash | undefined = hash) {
  const node = createNodeBackend(given);
  const keys = new Map(SECRETS.map((secret) => [secret, node.importKey(secret)]));
  const keyOf = (secret: string) => keys.get(secret) ?? node.importKey(secret);
  const expectRight = (secret: string, body: Uint8Array, head = HEAD) => {
    const mac = macOf(secret, head, body);
    expect(node.sign(keyOf(secret), head, body)).toBe(mac);
    expect(node.verify(keyOf(secret), head, body, `v1=${mac}`)).toBe(true);
  };
  return { expectRight };
}

test("as a property, createOneShotHmac agrees with createHmac up to 32 KiB, and declines longer messages", () => {
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
      const expected = size > MAX_MESSAGE_BYTES ? undefined : macOf(secret, undefined, body);
      expect(hmac.mac(hmac.padKey(secret), undefined, body)).toBe(expected);
    }),
    { seed: 20_260_708, numRuns: 200 },
  );
});

// Starts at 0 bytes: the `secret` option refuses an empty secret, but both ways accept such a key.
test.each([
  ["one-shot hashes", hash],
  ["createHmac only", undefined],
])("by %s, a backend makes the right MAC with keys of each length from 0 to 200", (_, given) => {
  const { expectRight } = checkedBackend(given);
  for (let length = 0; length <= 200; length++) {
    const secret = Buffer.from(bytesOf(length).map((byte) => byte & 0x7f)).toString();
    for (const size of [0, 65]) expectRight(secret, bytesOf(size));
  }
});

test.each<[string, SignedHead, number, number]>([
  ["an empty body", HEAD, 0, 2],
  ["the largest body that fits after any head, after a short head", HEAD, MAX_BODY_BYTES, 2],
  ["one byte more", HEAD, MAX_BODY_BYTES + 1, 0],
  ["1 MB", HEAD, 1_048_576, 0],
  ["a head longer than a delivery's", REFUSED_AS_TOO_LONG, 10, 0],
  ["an id that is not ASCII", REFUSED_AT_ITS_END, 10, 0],
  ["a timestamp that is not ASCII", { ...HEAD, timestamp: "\uff16" }, 10, 0],
])("a MAC takes the expected number of one-shot hashes: %s", (_, head, size, hashes) => {
  const { node, spied } = countingBackend();
  const key = node.importKey("whsec_test");
  expect(node.sign(key, head, bytesOf(size))).toBe(macOf("whsec_test", head, bytesOf(size)));
  expect(spied).toHaveBeenCalledTimes(hashes);
});

test.each([
  ["the signature", (right: string) => right, true, 2],
  ["the last of eight", (right: string) => `v2=a,${"v1=b ".repeat(6)}${right}`, true, 2],
  ["another one", (right: string) => `v1=${right.slice(3).split("").reverse().join("")}`, false, 2],
  ["no signature", () => "v1=", false, 0],
])("to verify a text takes the hashes of one MAC at most: %s", (_, textOf, expected, hashes) => {
  const { node, spied } = countingBackend();
  const key = node.importKey("whsec_test");
  const text = textOf(`v1=${macOf("whsec_test", HEAD, bytesOf(9))}`);
  expect(node.verify(key, HEAD, bytesOf(9), text)).toBe(expected);
  expect(spied).toHaveBeenCalledTimes(hashes);
});

test.each([
  [0, MAX_MESSAGE_BYTES, 2],
  [0, MAX_MESSAGE_BYTES + 1, 0],
  [1_000, MAX_MESSAGE_BYTES - 1_000, 2],
  [1_000, MAX_MESSAGE_BYTES - 999, 0],
])(
  "the limit counts the maximum size of a head: %i bytes before %i take %i hashes",
  (maxBytes, size, hashes) => {
    const spied = vi.fn(hash);
    const hmac = createOneShotHmac(spied, { ...NO_HEAD, maxBytes });
    hmac.mac(hmac.padKey(bytesOf(20)), undefined, bytesOf(size));
    expect(spied).toHaveBeenCalledTimes(hashes);
  },
);

test.each([
  ["64 bytes, used unchanged", 64, 0],
  ["65 bytes, hashed first", 65, 1],
])("a key takes the expected number of one-shot hashes: %s", (_, length, hashes) => {
  const { node, spied } = countingBackend();
  node.importKey("k".repeat(length));
  expect(spied).toHaveBeenCalledTimes(hashes);
});

class Longer extends Uint8Array {
  override get length() {
    return 5;
  }
}
const transferred = bytesOf(64);
structuredClone(transferred, { transfer: [transferred.buffer] });
const digits = Buffer.from("0123456789");

test.each<[string, Uint8Array, string, number]>([
  ["a part of a Buffer", Buffer.from("--0123456789--").subarray(2, 12), "0123456789", 2],
  ["a Uint8Array whose memory was transferred", transferred, "", 2],
  ["a subclass", Object.setPrototypeOf(bytesOf(0), Longer.prototype) as Longer, "", 0],
  ["a subclass that hides bytes", new Longer(digits), "0123456789", 0],
  [
    "an array with a length of its own",
    Object.defineProperty(Buffer.from(digits), "length", { value: 5 }),
    "0123456789",
    0,
  ],
])("a body takes the expected number of one-shot hashes: %s", (_, body, text, hashes) => {
  const { node, spied } = countingBackend();
  const right = macOf("whsec_test", HEAD, Buffer.from(text));
  expect(node.sign(node.importKey("whsec_test"), HEAD, body)).toBe(right);
  expect(spied).toHaveBeenCalledTimes(hashes);
  // The one-shot form leaves a body that is not plain bytes to createHmac.
  const hmac = createOneShotHmac(hash, DELIVERY_HEAD);
  const mac = hmac.mac(hmac.padKey(Buffer.from("whsec_test")), HEAD, body);
  expect(mac).toBe(hashes === 0 ? undefined : right);
});

/** Whether a backend made now uses its hash. Its signature must be right without the faults. */
function isUsed(given: OneShotHash): boolean {
  const { node, spied } = countingBackend(given);
  vi.restoreAllMocks();
  spied.mockClear();
  const signed = node.sign(node.importKey("k".repeat(100)), HEAD, bytesOf(1_000));
  expect(signed).toBe(macOf("k".repeat(100), HEAD, bytesOf(1_000)));
  return spied.mock.calls.length > 0;
}

/** A hash that is wrong for a message that fits. */
function wrongFor(fits: RegExp): OneShotHash {
  return (algorithm, data, encoding) =>
    hash(algorithm, fits.test(Buffer.from(data).toString("latin1")) ? digits : data, encoding);
}

test("the one-shot hash is used if it works", () => {
  expect(isUsed(hash)).toBe(true);
});

test.each<[string, OneShotHash]>([
  ["that throws", throwing(new Error("no such algorithm"))],
  ["that returns hexadecimal only", (algorithm, data) => hash(algorithm, data, "hex")],
  [
    "that returns upper-case digits",
    (...call) => (call[2] === "hex" ? hash(...call).toUpperCase() : hash(...call)),
  ],
  [
    // Every message is longer, because of the padded secret in front. Only a long secret itself
    // is this short.
    "that is wrong only for a secret longer than a block",
    (...call) => (call[1].length < 80 ? hash(...call).toUpperCase() : hash(...call)),
  ],
  ["that is wrong only without a body", wrongFor(/:[0-9]+:[^:]+:$/)],
  ["that is wrong only with a body", wrongFor(/:[0-9]+:[^:]+:./s)],
  [
    "that reads the message as text",
    (algorithm, data, encoding) =>
      hash(algorithm, Buffer.from(Buffer.from(data).toString()), encoding),
  ],
  ["that ends a digest at a zero byte", (...call) => hash(...call).replace(/\0.*/s, "")],
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
    "one position too far",
    function (text, start, length) {
      return latin1Write.call(this, text, start + 1, length - 1);
    },
  ],
  ["not at all", () => 0],
])("the one-shot hash is not used if a Buffer writes latin1 %s", (_, wrong) => {
  vi.spyOn(writers, "latin1Write").mockImplementation(wrong);
  expect(isUsed(hash)).toBe(false);
});

test("the view of a length is kept until a message that is 1 024 bytes longer or shorter replaces it", () => {
  const spied = vi.fn(hash);
  const hmac = createOneShotHmac(spied, NO_HEAD);
  const key = hmac.padKey(bytesOf(20));
  const viewOf = (length: number) => {
    spied.mockClear();
    hmac.mac(key, undefined, bytesOf(length));
    return spied.mock.calls[0]?.[1];
  };
  const views = [0, 1, 2, 3, 64, 1_023].map((length) => [length, viewOf(length)] as const);
  for (const [length, view] of views) expect(viewOf(length), String(length)).toBe(view);
  viewOf(1_026);
  for (const [length, view] of views) expect(viewOf(length) === view).toBe(length !== 2);
});

test("the padded secret is kept until a message has another secret", () => {
  const hmac = createOneShotHmac(hash, NO_HEAD);
  const { inner, outer } = hmac.padKey(bytesOf(20));
  let reads = 0;
  const key = {
    get inner() {
      reads += 1;
      return inner;
    },
    outer,
  };
  for (let n = 0; n < 5; n++) hmac.mac(key, undefined, bytesOf(n));
  expect(reads).toBe(1);
  hmac.mac(hmac.padKey(bytesOf(21)), undefined, bytesOf(10));
  hmac.mac(key, undefined, bytesOf(10));
  expect(reads).toBe(2);
});

test("a message gets the right MAC after a writer that fills its whole space and then throws", () => {
  const { padKey, mac } = createOneShotHmac<string>(hash, {
    maxBytes: 50,
    write: (head, bytes, at) => {
      bytes.fill(0xee, at, at + 50);
      if (head === "bad") throw new Error("no head");
      return at + Buffer.from(bytes.buffer).write(head, at);
    },
  });
  const [first, second] = [padKey(Buffer.from("first")), padKey(Buffer.from("second"))];
  const body = Buffer.from("body");
  const right = nodeCrypto.createHmac("sha256", "first").update("headbody").digest("hex");
  for (const refused of [first, second]) {
    expect(mac(first, "head", body)).toBe(right);
    expect(() => mac(refused, "bad", body)).toThrow("no head");
  }
  expect(mac(first, "head", body)).toBe(right);
});

test("as a property, any series of secrets, heads and lengths up to 70 000 gets the right MACs", () => {
  const length = fc.oneof(
    { weight: 4, arbitrary: fc.nat(300) },
    { weight: 2, arbitrary: fc.nat(33_000) },
    { weight: 2, arbitrary: fc.integer({ min: 32_568, max: 32_968 }) },
    { weight: 1, arbitrary: fc.nat(70_000) },
    // They share a view.
    { weight: 1, arbitrary: fc.constantFrom(5, 1_029, 2_053, 30_725) },
  );
  const head = fc.oneof(
    fc.record({
      timestamp: fc.stringMatching(/^[0-9]{1,12}$/),
      id: fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/),
    }),
    // The one-shot form refuses about half of these.
    fc.record({
      timestamp: fc.string({ unit: "binary-ascii", maxLength: 20 }),
      id: fc.oneof(
        fc.string({ unit: "binary", maxLength: 60 }),
        fc.string({ unit: "binary-ascii", maxLength: 160, size: "max" }),
      ),
    }),
    fc.constantFrom(HEAD, LONGEST, REFUSED_AT_ITS_END, REFUSED_AS_TOO_LONG),
  );
  const message = fc.record({
    secret: fc.oneof(
      fc.constantFrom(...SECRETS),
      fc.string({ unit: "binary", minLength: 1, maxLength: 66 }),
    ),
    head,
    length,
    salt: fc.nat(255),
  });
  const { expectRight } = checkedBackend();
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 8 }), (messages) => {
      for (const { secret, head: signedHead, length: size, salt } of messages) {
        expectRight(secret, bytesOf(size, salt), signedHead);
      }
    }),
    { seed: 20_260_708, numRuns: 100 },
  );
});
