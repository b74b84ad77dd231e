import * as nodeCrypto from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNodeBackend } from "../../src/signature/crypto/node.js";
import { createOneShotHmac } from "../../src/signature/crypto/one-shot-hmac.js";
import { headText, type SignedHead } from "../../src/signature/crypto/signed-head.js";

// All messages and all secrets of the Node backend go through one piece of memory. Here is what one
// MAC could leave in it for the next.

const SETTINGS = { seed: 20_260_708, numRuns: 150 };
const SECRETS = [
  "whsec_first",
  "whsec_second",
  "s".repeat(64),
  "a secret longer than a block ".repeat(4),
];
// Frozen: who signs may not write into what it is given.
const HEAD: SignedHead = Object.freeze({ timestamp: "1760000000", id: "a" });
const SHORTEST: SignedHead = Object.freeze({ timestamp: "1", id: "a" });
const LONGEST: SignedHead = Object.freeze({ timestamp: "9".repeat(12), id: "z".repeat(128) });
/** All its bytes are in the scratch by the time that its last character shows that it cannot be there. */
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

/** A backend with memory of its own, and a check that it gives the right MAC now. */
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

describe("nothing is left of the message before", () => {
  test("when a short one follows a long one, down to the empty one", () => {
    const { expectRight } = freshBackend();
    for (const length of [32_000, 1_000, 100, 64, 63, 1, 0, 2, 0]) {
      expectRight("whsec_first", filled(length, 0xff));
    }
    expectRight("whsec_first", filled(0, 0), SHORTEST);
    expectRight("whsec_first", filled(5_000, 1), { timestamp: "1", id: "€".repeat(60) });
    expectRight("whsec_first", filled(0, 0), SHORTEST);
  });

  test("when another of the same length follows", () => {
    const { expectRight } = freshBackend();
    for (const byte of [0x00, 0xff, 0x36, 0x5c, 0x00])
      expectRight("whsec_first", filled(700, byte));
  });

  test("when the next one is as long, but cut elsewhere", () => {
    const { node, keyOf } = freshBackend();
    const sign = (id: string, body: string) =>
      node.sign(keyOf("whsec_first"), { timestamp: "1", id }, Buffer.from(body));
    const whole = sign("a", "b:body");
    expect(sign("a:b", "body")).toBe(whole);
    expect(sign("a", "b:body")).toBe(whole);
    expect(sign("a:c", "body")).not.toBe(whole);
    expect(sign("a", "c:body")).not.toBe(whole);
  });

  test("when lengths follow that are 1 024 apart, as their views share a place", () => {
    const { expectRight } = freshBackend();
    for (const length of [5, 1_029, 5, 2_053, 1_029, 31_749, 5]) {
      expectRight("whsec_first", filled(length, length & 0xff));
    }
  });

  test("when one between was too long for it", () => {
    const { expectRight } = freshBackend();
    for (const length of [1_000, 70_000, 1_000, 40_000, 10]) {
      expectRight("whsec_first", filled(length, 7));
      expectRight("whsec_second", filled(length, 8));
    }
  });
});

describe("nothing is left of the head before", () => {
  test("when heads of all lengths follow each other, down and up", () => {
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

  test("when another head makes the whole as long, or 1 024 bytes longer", () => {
    const { expectRight } = freshBackend();
    for (const length of [1, 40, 128, 2, 41, 127]) {
      const head = { timestamp: "1760000000", id: "i".repeat(length) };
      expectRight("whsec_first", filled(200 - length, length), head);
      expectRight("whsec_first", filled(1_224 - length, length), head);
    }
  });

  test("when the id before was written where the timestamp is now, and the other way round", () => {
    const { expectRight } = freshBackend();
    expectRight("whsec_first", filled(3, 1), { timestamp: "123456789012", id: "1" });
    expectRight("whsec_first", filled(3, 1), { timestamp: "1", id: "123456789012" });
    expectRight("whsec_first", filled(3, 1), { timestamp: "12", id: "3456789012" });
  });

  test.each([
    ["after its bytes were written", REFUSED_AT_ITS_END],
    ["as too long", REFUSED_AS_TOO_LONG],
    ["for its timestamp", { timestamp: "17\u01360000000", id: "z".repeat(128) }],
  ])("when a head is refused %s", (_, refused) => {
    const { expectRight } = freshBackend();
    for (const size of [0, 1, 63, 200]) {
      expectRight("whsec_first", filled(size, 1), SHORTEST);
      expectRight("whsec_first", filled(size, 2), refused);
      expectRight("whsec_first", filled(size, 1), SHORTEST);
      // The other secret's pad is in the scratch by then.
      expectRight("whsec_second", filled(size, 2), refused);
      expectRight("whsec_first", filled(size, 1), SHORTEST);
      expectRight("whsec_second", filled(size, 1), SHORTEST);
    }
  });

  test.each<[string, () => number | undefined]>([
    ["refuses", () => undefined],
    [
      "throws",
      () => {
        throw new Error("no head");
      },
    ],
  ])("when a writer fills all of its place and then %s", (_, giveUp) => {
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
  });
});

describe("nothing is left of the secret before", () => {
  test("when two take turns, or one follows itself", () => {
    const { expectRight } = freshBackend();
    for (const at of [0, 1, 0, 0, 1, 1, 2, 3, 3, 0, 2, 0]) {
      expectRight(SECRETS[at] ?? "", filled(250, at));
    }
  });

  test("when a key is made between two messages", () => {
    const { node, keyOf, expectRight } = freshBackend();
    expectRight("whsec_first", filled(10, 1));
    node.importKey("another secret longer than a block ".repeat(4));
    expectRight("whsec_first", filled(10, 1));
    expect(node.sign(keyOf("whsec_another"), HEAD, filled(10, 1))).toBe(
      macOf("whsec_another", HEAD, filled(10, 1)),
    );
  });

  test("when two keys were made of one text", () => {
    const { node } = freshBackend();
    const signature = `v1=${macOf("same", HEAD, filled(10, 1))}`;
    const keys = ["same", "other", "same", "same"].map((secret) => node.importKey(secret));
    const taken = keys.map((key) => node.verify(key, HEAD, filled(10, 1), signature));
    expect(taken).toEqual([true, false, true, true]);
  });

  test("in another backend, whose keys are its own", () => {
    const [one, other] = [freshBackend(), freshBackend()];
    for (const length of [10, 500]) {
      one.expectRight("whsec_first", filled(length, 1));
      other.expectRight("whsec_second", filled(length, 2));
      one.expectRight("whsec_first", filled(length, 3));
    }
  });
});

describe("what is given and taken stays as it is", () => {
  test("a signature, when the next one is made", () => {
    const { node, keyOf } = freshBackend();
    const body = filled(100, 1);
    const first = node.sign(keyOf("whsec_first"), HEAD, body);
    expect(node.sign(keyOf("whsec_second"), HEAD, filled(100, 2))).not.toBe(first);
    expect(first).toBe(macOf("whsec_first", HEAD, body));
  });

  test("the body that sign and verify are given, be the signature the right one or not", () => {
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

  test("a signature that verify has refused or taken does not stand for the next", () => {
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

test("as a property: any row of secrets, heads and lengths up to 70 000", () => {
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
    // About half of these are refused by the one-shot form.
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
