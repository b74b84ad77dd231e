import * as nodeCrypto from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNodeBackend } from "../../../src/signature/crypto/node.js";
import { createOneShotHmac } from "../../../src/signature/crypto/one-shot-hmac.js";
import { headText, type SignedHead } from "../../../src/signature/crypto/signed-head.js";
import { throwing } from "../../support/faults.js";

// All messages and secrets of the Node backend share one scratch buffer. These tests check that one
// MAC leaves nothing in it that changes the next.

const SETTINGS = { seed: 20_260_708, numRuns: 150 };
const SECRETS = [
  "whsec_first",
  "whsec_second",
  "s".repeat(64),
  "a secret longer than a block ".repeat(4),
];
// Frozen, because signing must not write to its arguments.
const HEAD: SignedHead = Object.freeze({ timestamp: "1760000000", id: "a" });
const SHORTEST: SignedHead = Object.freeze({ timestamp: "1", id: "a" });
const LONGEST: SignedHead = Object.freeze({ timestamp: "9".repeat(12), id: "z".repeat(128) });
/**
 * Its last character makes it invalid, when all of its other bytes are already in the scratch
 * buffer.
 */
const REFUSED_AT_ITS_END: SignedHead = Object.freeze({
  ...LONGEST,
  id: `${"z".repeat(127)}\u0136`,
});
const REFUSED_AS_TOO_LONG: SignedHead = Object.freeze({ ...LONGEST, id: "z".repeat(129) });

function macOf(secret: string, head: SignedHead, body: Uint8Array): string {
  const hmac = nodeCrypto.createHmac("sha256", secret).update(headText(head), "utf8");
  return hmac.update(body).digest("hex");
}

function filled(length: number, byte: number): Uint8Array {
  return new Uint8Array(length).fill(byte);
}

/** A backend with a scratch buffer of its own, and a check that its MAC is right. */
function freshBackend() {
  const node = createNodeBackend(nodeCrypto.hash);
  const keys = new Map(SECRETS.map((secret) => [secret, node.importKey(secret)]));
  const keyOf = (secret: string) => keys.get(secret) ?? node.importKey(secret);
  const expectRight = (secret: string, body: Uint8Array, head = HEAD) => {
    const mac = macOf(secret, head, body);
    expect(node.sign(keyOf(secret), head, body)).toBe(mac);
    expect(node.verify(keyOf(secret), head, body, `v1=${mac}`)).toBe(true);
  };
  return { node, keyOf, expectRight };
}

describe("a previous message", () => {
  test("a short message after a long one gets the right MAC, down to an empty message", () => {
    const { expectRight } = freshBackend();
    for (const length of [32_000, 1_000, 100, 64, 63, 1, 0, 2, 0]) {
      expectRight("whsec_first", filled(length, 0xff));
    }
    expectRight("whsec_first", filled(0, 0), SHORTEST);
    expectRight("whsec_first", filled(5_000, 1), { timestamp: "1", id: "€".repeat(60) });
    expectRight("whsec_first", filled(0, 0), SHORTEST);
  });

  test("a message gets the right MAC after another message of the same length", () => {
    const { expectRight } = freshBackend();
    for (const byte of [0x00, 0xff, 0x36, 0x5c, 0x00])
      expectRight("whsec_first", filled(700, byte));
  });

  test("a message gets the right MAC after the same bytes with another end of the head", () => {
    const { node, keyOf } = freshBackend();
    const sign = (id: string, body: string) =>
      node.sign(keyOf("whsec_first"), { timestamp: "1", id }, Buffer.from(body));
    const whole = sign("a", "b:body");
    expect(sign("a:b", "body")).toBe(whole);
    expect(sign("a", "b:body")).toBe(whole);
    expect(sign("a:c", "body")).not.toBe(whole);
    expect(sign("a", "c:body")).not.toBe(whole);
  });

  test("messages get the right MAC if their lengths differ by 1 024, so that they share a view", () => {
    const { expectRight } = freshBackend();
    for (const length of [5, 1_029, 5, 2_053, 1_029, 31_749, 5]) {
      expectRight("whsec_first", filled(length, length & 0xff));
    }
  });

  test("a message gets the right MAC after a message that was too long for the one-shot hash", () => {
    const { expectRight } = freshBackend();
    for (const length of [1_000, 70_000, 1_000, 40_000, 10]) {
      expectRight("whsec_first", filled(length, 7));
      expectRight("whsec_second", filled(length, 8));
    }
  });
});

describe("a previous head", () => {
  test("heads of all lengths get the right MAC one after another, down and up", () => {
    const { expectRight } = freshBackend();
    for (const length of [128, 1, 127, 2, 64, 63, 65, 1, 128]) {
      for (const timestamp of ["123456789012", "1"]) {
        for (const size of [0, 1, 100]) {
          const head = { timestamp, id: String(length % 10).repeat(length) };
          expectRight("whsec_first", filled(size, length), head);
        }
      }
    }
  });

  test("a message gets the right MAC if another head keeps its total length or adds 1 024 bytes", () => {
    const { expectRight } = freshBackend();
    for (const length of [1, 40, 128, 2, 41, 127]) {
      const head = { timestamp: "1760000000", id: "i".repeat(length) };
      expectRight("whsec_first", filled(200 - length, length), head);
      expectRight("whsec_first", filled(1_224 - length, length), head);
    }
  });

  test("a message gets the right MAC after a head with id and timestamp swapped", () => {
    const { expectRight } = freshBackend();
    expectRight("whsec_first", filled(3, 1), { timestamp: "123456789012", id: "1" });
    expectRight("whsec_first", filled(3, 1), { timestamp: "1", id: "123456789012" });
    expectRight("whsec_first", filled(3, 1), { timestamp: "12", id: "3456789012" });
  });

  test.each([
    ["after its bytes were written", REFUSED_AT_ITS_END],
    ["as too long", REFUSED_AS_TOO_LONG],
    ["for its timestamp", { timestamp: "17\u01360000000", id: "z".repeat(128) }],
  ])("a message gets the right MAC after a head that is refused %s", (_, refused) => {
    const { expectRight } = freshBackend();
    for (const size of [0, 1, 63, 200]) {
      expectRight("whsec_first", filled(size, 1), SHORTEST);
      expectRight("whsec_first", filled(size, 2), refused);
      expectRight("whsec_first", filled(size, 1), SHORTEST);
      // The pad of the other secret is in the scratch buffer by then.
      expectRight("whsec_second", filled(size, 2), refused);
      expectRight("whsec_first", filled(size, 1), SHORTEST);
      expectRight("whsec_second", filled(size, 1), SHORTEST);
    }
  });

  test.each<[string, () => number | undefined]>([
    ["refuses", () => undefined],
    ["throws", throwing(new Error("no head"))],
  ])(
    "a message gets the right MAC after a writer that fills its whole space and then %s",
    (_, giveUp) => {
      const { padKey, mac } = createOneShotHmac<string>(nodeCrypto.hash, {
        maxBytes: 50,
        write: (head, bytes, at) => {
          bytes.fill(0xee, at, at + 50);
          return head === "bad" ? giveUp() : at + Buffer.from(bytes.buffer).write(head, at);
        },
      });
      const [first, second] = [padKey(Buffer.from("first")), padKey(Buffer.from("second"))];
      const expectRight = (key: typeof first, secret: string) => {
        const right = nodeCrypto.createHmac("sha256", secret).update("head").update("body");
        expect(mac(key, "head", Buffer.from("body"))).toBe(right.digest("hex"));
      };
      const refuse = (key: typeof first) => {
        let given: string | undefined;
        try {
          given = mac(key, "bad", Buffer.from("another body"));
        } catch (error) {
          expect(error).toEqual(new Error("no head"));
        }
        expect(given).toBeUndefined();
      };
      expectRight(first, "first");
      refuse(first);
      expectRight(first, "first");
      refuse(second);
      expectRight(first, "first");
      refuse(second);
      expectRight(second, "second");
    },
  );
});

describe("a previous secret", () => {
  test("two secrets get the right MACs, alternating or repeated", () => {
    const { expectRight } = freshBackend();
    for (const at of [0, 1, 0, 0, 1, 1, 2, 3, 3, 0, 2, 0]) {
      expectRight(SECRETS[at] ?? "", filled(250, at));
    }
  });

  test("a message gets the right MAC if a key is made between two messages", () => {
    const { node, keyOf, expectRight } = freshBackend();
    expectRight("whsec_first", filled(10, 1));
    node.importKey("another secret longer than a block ".repeat(4));
    expectRight("whsec_first", filled(10, 1));
    expect(node.sign(keyOf("whsec_another"), HEAD, filled(10, 1))).toBe(
      macOf("whsec_another", HEAD, filled(10, 1)),
    );
  });

  test("two keys of the same text make the same MAC", () => {
    const { node } = freshBackend();
    const signature = `v1=${macOf("same", HEAD, filled(10, 1))}`;
    const keys = ["same", "other", "same", "same"].map((secret) => node.importKey(secret));
    const taken = keys.map((key) => node.verify(key, HEAD, filled(10, 1), signature));
    expect(taken).toEqual([true, false, true, true]);
  });

  test("two backends get the right MACs with keys of their own", () => {
    const [one, other] = [freshBackend(), freshBackend()];
    for (const length of [10, 500]) {
      one.expectRight("whsec_first", filled(length, 1));
      other.expectRight("whsec_second", filled(length, 2));
      one.expectRight("whsec_first", filled(length, 3));
    }
  });
});

describe("arguments and results", () => {
  test("a signature stays the same when the next one is made", () => {
    const { node, keyOf } = freshBackend();
    const body = filled(100, 1);
    const first = node.sign(keyOf("whsec_first"), HEAD, body);
    expect(node.sign(keyOf("whsec_second"), HEAD, filled(100, 2))).not.toBe(first);
    expect(first).toBe(macOf("whsec_first", HEAD, body));
  });

  test("sign and verify do not change the body, whether the signature is right or wrong", () => {
    const { node, keyOf } = freshBackend();
    for (const head of [HEAD, LONGEST, REFUSED_AT_ITS_END]) {
      for (const length of [0, 100, 32_000, 40_000]) {
        const body = filled(length, 3);
        const mac = macOf("whsec_first", head, body);
        const signature = `v1=${mac}`;
        expect(node.sign(keyOf("whsec_first"), head, body)).toBe(mac);
        expect(node.verify(keyOf("whsec_first"), head, body, signature)).toBe(true);
        expect(node.verify(keyOf("whsec_second"), head, body, signature)).toBe(false);
        expect(body).toHaveLength(length);
        expect(body.every((byte) => byte === 3)).toBe(true);
      }
    }
  });

  test("a signature that verify has accepted or refused does not replace the next one", () => {
    const { node, keyOf } = freshBackend();
    const [body, other] = [filled(50, 1), filled(50, 2)];
    const key = keyOf("whsec_first");
    const right = `v1=${macOf("whsec_first", HEAD, body)}`;
    expect(node.verify(key, HEAD, body, right)).toBe(true);
    expect(node.verify(key, HEAD, other, right)).toBe(false);
    expect(node.verify(key, HEAD, body, `v1=${macOf("whsec_first", HEAD, other)}`)).toBe(false);
    expect(node.verify(key, HEAD, body, `v1=${"0".repeat(64)}`)).toBe(false);
    expect(node.verify(key, HEAD, body, "")).toBe(false);
    expect(node.verify(key, HEAD, body, right)).toBe(true);
  });
});

test("as a property, any series of secrets, heads and lengths up to 70 000 gets the right MACs", () => {
  const length = fc.oneof(
    { weight: 4, arbitrary: fc.nat(300) },
    { weight: 2, arbitrary: fc.nat(33_000) },
    { weight: 2, arbitrary: fc.integer({ min: 32_568, max: 32_968 }) },
    { weight: 1, arbitrary: fc.nat(70_000) },
    { weight: 1, arbitrary: fc.constantFrom(1, 2, 30).map((times) => 5 + 1_024 * times) },
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
    fc.constantFrom(SHORTEST, LONGEST, REFUSED_AT_ITS_END, REFUSED_AS_TOO_LONG),
  );
  const message = fc.record({
    secret: fc.oneof(
      fc.constantFrom(...SECRETS),
      fc
        .string({ unit: "binary", minLength: 1, maxLength: 200 })
        .filter((text) => Buffer.byteLength(text) <= 200),
    ),
    head,
    length,
    byte: fc.nat(255),
  });
  const { expectRight } = freshBackend();
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 8 }), (messages) => {
      for (const { secret, head: signedHead, length: bytes, byte } of messages) {
        expectRight(secret, filled(bytes, byte), signedHead);
      }
    }),
    SETTINGS,
  );
});
