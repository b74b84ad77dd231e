import * as nodeCrypto from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNodeBackend } from "../../src/crypto/node.js";

// All messages and all secrets of the Node backend go through one piece of memory. Here is what one
// MAC could leave in it for the next.

const SETTINGS = { seed: 20_260_708, numRuns: 150 };
const SECRETS = [
  "whsec_first",
  "whsec_second",
  "s".repeat(64),
  "a secret longer than a block ".repeat(4),
];
const PREFIX = "v1:1760000000:a:";

function macOf(secret: string, prefix: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    nodeCrypto.createHmac("sha256", secret).update(prefix, "utf8").update(body).digest(),
  );
}

function hexOf(mac: Uint8Array): string {
  return Buffer.from(mac).toString("hex");
}

function filled(length: number, byte: number): Uint8Array {
  return new Uint8Array(length).fill(byte);
}

/** A backend with memory of its own, and a check that it gives the right MAC now. */
function freshBackend() {
  const node = createNodeBackend(nodeCrypto.hash);
  const keys = new Map(SECRETS.map((secret) => [secret, node.importKey(secret)]));
  const keyOf = (secret: string) => keys.get(secret) ?? node.importKey(secret);
  const expectRight = (secret: string, body: Uint8Array, prefix = PREFIX) => {
    const mac = macOf(secret, prefix, body);
    expect(node.sign(keyOf(secret), prefix, body)).toBe(hexOf(mac));
    expect(node.verify(keyOf(secret), prefix, body, mac)).toBe(true);
  };
  return { node, keyOf, expectRight };
}

describe("nothing is left of the message before", () => {
  test("when a short one follows a long one, down to the empty one", () => {
    const { expectRight } = freshBackend();
    for (const length of [32_000, 1_000, 100, 64, 63, 1, 0, 2, 0]) {
      expectRight("whsec_first", filled(length, 0xff));
    }
    expectRight("whsec_first", filled(0, 0), "");
    expectRight("whsec_first", filled(5_000, 1), "€".repeat(60));
    expectRight("whsec_first", filled(0, 0), "");
  });

  test("when another of the same length follows", () => {
    const { expectRight } = freshBackend();
    for (const byte of [0x00, 0xff, 0x36, 0x5c, 0x00])
      expectRight("whsec_first", filled(700, byte));
  });

  test("when the next one is as long, but cut elsewhere", () => {
    const { node, keyOf } = freshBackend();
    const whole = node.sign(keyOf("whsec_first"), "v1:1:a:", Buffer.from("body"));
    expect(node.sign(keyOf("whsec_first"), "v1:1:", Buffer.from("a:body"))).toBe(whole);
    expect(node.sign(keyOf("whsec_first"), "v1:1:b:", Buffer.from("body"))).not.toBe(whole);
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
    expect(node.sign(keyOf("whsec_another"), PREFIX, filled(10, 1))).toBe(
      hexOf(macOf("whsec_another", PREFIX, filled(10, 1))),
    );
  });

  test("when two keys were made of one text", () => {
    const { node } = freshBackend();
    const mac = macOf("same", PREFIX, filled(10, 1));
    const keys = ["same", "other", "same", "same"].map((secret) => node.importKey(secret));
    const taken = keys.map((key) => node.verify(key, PREFIX, filled(10, 1), mac));
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
    const first = node.sign(keyOf("whsec_first"), PREFIX, body);
    node.sign(keyOf("whsec_second"), PREFIX, filled(100, 2));
    expect(first).toBe(hexOf(macOf("whsec_first", PREFIX, body)));
  });

  test("the body and the MAC that verify is given, be it the right one or not", () => {
    const { node, keyOf } = freshBackend();
    for (const length of [0, 100, 32_000, 40_000]) {
      const body = filled(length, 3);
      const mac = macOf("whsec_first", PREFIX, body);
      const macBefore = mac.slice();
      expect(node.verify(keyOf("whsec_first"), PREFIX, body, mac)).toBe(true);
      expect(node.verify(keyOf("whsec_second"), PREFIX, body, mac)).toBe(false);
      expect(mac).toEqual(macBefore);
      expect(body.every((byte) => byte === 3)).toBe(true);
    }
  });

  test("a MAC that verify has refused or taken does not stand for the next", () => {
    const { node, keyOf } = freshBackend();
    const [body, other] = [filled(50, 1), filled(50, 2)];
    const key = keyOf("whsec_first");
    const right = macOf("whsec_first", PREFIX, body);
    expect(node.verify(key, PREFIX, body, right)).toBe(true);
    expect(node.verify(key, PREFIX, other, right)).toBe(false);
    expect(node.verify(key, PREFIX, body, macOf("whsec_first", PREFIX, other))).toBe(false);
    expect(node.verify(key, PREFIX, body, new Uint8Array(32))).toBe(false);
    expect(node.verify(key, PREFIX, body, right)).toBe(true);
  });
});

test("as a property: any row of secrets, prefixes and lengths up to 70 000", () => {
  const length = fc.oneof(
    { weight: 4, arbitrary: fc.nat(300) },
    { weight: 2, arbitrary: fc.nat(33_000) },
    { weight: 2, arbitrary: fc.integer({ min: 32_568, max: 32_968 }) },
    { weight: 1, arbitrary: fc.nat(70_000) },
    { weight: 1, arbitrary: fc.constantFrom(1, 2, 30).map((times) => 5 + 1_024 * times) },
  );
  const message = fc.record({
    secret: fc.oneof(
      fc.constantFrom(...SECRETS),
      fc
        .string({ unit: "binary", minLength: 1, maxLength: 200 })
        .filter((text) => Buffer.byteLength(text) <= 200),
    ),
    prefix: fc.string({ unit: "binary", maxLength: 60 }),
    length,
    byte: fc.nat(255),
  });
  const { expectRight } = freshBackend();
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 8 }), (messages) => {
      for (const { secret, prefix, length: bytes, byte } of messages) {
        expectRight(secret, filled(bytes, byte), prefix);
      }
    }),
    SETTINGS,
  );
});
