import { createCipheriv } from "node:crypto";
import { expect, test } from "vitest";
import { WeakSecretCheck } from "../../src/signature/weak-secrets.js";
import type { Log } from "../../src/answer/logger.js";

/** Of each form. `SECRETS=1000000` tries a million, which takes three minutes. */
const SECRETS = Number(process.env["SECRETS"] ?? 50_000);

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const ALPHANUMERIC = `0123456789${LOWER}${UPPER}`;
// ASCII from "!" to "~", as password managers use it.
const PRINTABLE = String.fromCharCode(...Array.from({ length: 94 }, (_, at) => 33 + at));

/** Gives the same random bytes at each run. */
type Random = (length: number) => Buffer;

/** The key stream of a cipher: a hundred times faster than a generator of single numbers. */
function createRandom(seed: number): Random {
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16));
  const zeros = Buffer.alloc(1_000_000);
  let stream = Buffer.alloc(0);
  let at = 0;
  return (length) => {
    if (at + length > stream.length) {
      stream = cipher.update(zeros);
      at = 0;
    }
    at += length;
    return stream.subarray(at - length, at);
  };
}

/** Each character is equally likely. */
function text(random: Random, alphabet: string, length: number): string {
  const most = 256 - (256 % alphabet.length);
  let made = "";
  while (made.length < length) {
    const [byte = 0] = random(1);
    if (byte < most) made += alphabet.charAt(byte % alphabet.length);
  }
  return made;
}

/** How secrets are generated: `openssl rand`, UUIDs, services of webhooks, password managers. */
const FORMS: Readonly<Record<string, (random: Random) => string>> = {
  "16 bytes in hexadecimal digits": (random) => random(16).toString("hex"),
  "32 bytes in hexadecimal digits": (random) => random(32).toString("hex"),
  "12 bytes in base64": (random) => random(12).toString("base64"),
  "32 bytes in base64": (random) => random(32).toString("base64"),
  "16 bytes in base64url": (random) => random(16).toString("base64url"),
  "32 bytes in base64url": (random) => random(32).toString("base64url"),
  "20 bytes in base32 with padding": (random) => `${text(random, `${UPPER}234567`, 28)}====`,
  "a UUID": (random) =>
    random(16)
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
  "whsec_ and base64": (random) => `whsec_${random(24).toString("base64")}`,
  "whsec_ and hexadecimal digits": (random) => `whsec_${random(32).toString("hex")}`,
  "16 letters and digits": (random) => text(random, ALPHANUMERIC, 16),
  "32 letters and digits": (random) => text(random, ALPHANUMERIC, 32),
  "16 printable characters": (random) => text(random, PRINTABLE, 16),
  "20 printable characters": (random) => text(random, PRINTABLE, 20),
  "32 printable characters": (random) => text(random, PRINTABLE, 32),
};

test.each(Object.entries(FORMS))("no random secret causes a warning: %s", (_form, make) => {
  const random = createRandom(48);
  const warned: string[] = [];
  for (let at = 0; at < SECRETS; at++) {
    const secret = make(random);
    const warn = (): unknown => warned.push(secret);
    new WeakSecretCheck({ warn } as unknown as Log).check(secret);
  }
  expect(warned).toEqual([]);
});
