import fc from "fast-check";
import { expect, test } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import {
  ALARM_BODY,
  captured,
  codesOf,
  diagnose,
  macOf,
  NOW_MS,
  SECRET,
} from "./diagnosis-capture.js";

const id = fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/);
const timestamp = fc.integer({ min: NOW_MS / 1000 - 300, max: NOW_MS / 1000 + 300 }).map(String);
const secret = fc
  .string({ unit: "binary", minLength: 1, maxLength: 80 })
  .filter((text) => text.trim() === text && !["undefined", "null"].includes(text));
const body = fc.oneof(
  fc.json().map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);

/** Few runs, because each one is a whole search. */
const FEW = { numRuns: 40, seed: 20_261_121 };

test("diagnoseSignature finds no fault in the signature of a good delivery with any id, timestamp, secret and bytes", async () => {
  await fc.assert(
    fc.asyncProperty(id, timestamp, secret, body, async (anId, aTimestamp, aSecret, bytes) => {
      const signed = { id: anId, timestamp: aTimestamp, secret: aSecret, body: bytes };
      const { findings, secretIndex } = await diagnose(signed, { secret: aSecret });
      // Random bytes are no record.
      const codes = findings.map(({ code }) => code);
      expect({ codes, secretIndex }).toEqual({ codes: ["body_unrecognized"], secretIndex: 0 });
    }),
    { seed: 20_261_121 },
  );
});

const { headers: genuine } = captured() as { headers: Record<string, string> };
const pairs = Object.entries(genuine);
const fetched = new Headers(genuine);

test.each<[string, unknown]>([
  ["Headers", fetched],
  ["a Map", new Map(pairs)],
  ["pairs", pairs],
  ["rawHeaders", pairs.flat()],
  ["entries of HAR", pairs.map(([name, value]) => ({ name, value }))],
  ["lists of one", Object.fromEntries(pairs.map(([name, value]) => [name, [value]]))],
  ["upper case", Object.fromEntries(pairs.map(([n, value]) => [n.toUpperCase(), value]))],
  ["an object with only get", { get: (name: string) => fetched.get(name) }],
])("diagnoseSignature accepts a good delivery with headers as %s", async (_, headers) => {
  expect(await diagnose({}, { headers })).toMatchObject({ result: "good" });
});

/** A change of one byte, the length or one position. The search rarely tries the inverse. */
const tampering = fc.record({
  at: fc.nat(ALARM_BODY.length - 1),
  byte: fc.nat(255),
  how: fc.constantFrom("replace", "insert", "delete", "cut"),
});

test("diagnoseSignature proves nothing for a tampered body", async () => {
  const bytes = Buffer.from(ALARM_BODY);
  await fc.assert(
    fc.asyncProperty(tampering, async ({ at, byte, how }) => {
      const inserted = how === "replace" || how === "insert" ? [byte] : [];
      const behind = how === "cut" ? bytes.subarray(bytes.length) : bytes.subarray(at + 1);
      const kept = how === "insert" ? bytes.subarray(at) : behind;
      const tampered = Buffer.concat([bytes.subarray(0, at), Buffer.from(inserted), kept]);
      const isBlankBetween = JSON.stringify(parsed(tampered)) === JSON.stringify(parsed(bytes));
      fc.pre(!tampered.equals(bytes) && !isBlankBetween);
      const { result, findings } = await diagnose({}, { body: tampered });
      expect(result).toBe("bad");
      expect(findings.filter(({ certainty }) => certainty === "proven")).toEqual([]);
    }),
    FEW,
  );
});

test("diagnoseSignature proves nothing for a signature of random bytes", async () => {
  const mac = fc.uint8Array({ minLength: 8, maxLength: 64 });
  await fc.assert(
    fc.asyncProperty(mac, async (bytes) => {
      const change = { "X-Webhook-Signature": `v1=${Buffer.from(bytes).toString("hex")}` };
      const { findings } = await diagnose({}, { change });
      expect(findings.filter(({ certainty }) => certainty === "proven")).toEqual([]);
    }),
    { ...FEW, numRuns: 20 },
  );
});

test("diagnoseSignature proves nothing for a signature of a few digits", async () => {
  const digits = macOf().toString("hex").slice(0, 14);
  const { findings } = await diagnose({}, { change: { "X-Webhook-Signature": `v1=${digits}` } });
  expect(findings).toMatchObject([{ code: "header_malformed", certainty: "seen" }]);
});

function thrower(): never {
  throw new Error("hostile");
}

/** All traps of a Proxy. Each throws. */
const THROWS = Object.fromEntries(
  Object.getOwnPropertyNames(Reflect).map((trap) => [trap, thrower]),
);

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function detached<T extends ArrayBuffer | ArrayBufferView<ArrayBuffer>>(given: T): T {
  const buffer = given instanceof ArrayBuffer ? given : given.buffer;
  structuredClone(buffer, { transfer: [buffer] });
  return given;
}

function endless(value: unknown): unknown {
  return (function* () {
    for (;;) yield value;
  })();
}

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;

test.each<[string, () => unknown]>([
  ["a revoked Proxy", revoked],
  ["a Proxy that throws", () => new Proxy({}, THROWS)],
  ["a Proxy of bytes that throws", () => new Proxy(new Uint8Array(3), THROWS)],
  ["a detached Uint8Array", () => detached(new Uint8Array(10))],
  ["a detached ArrayBuffer", () => detached(new ArrayBuffer(10))],
  [
    "bytes whose buffer throws",
    () => Object.defineProperty(new Uint8Array(3), "buffer", { get: thrower }),
  ],
  ["an object whose toJSON throws", () => ({ toJSON: thrower })],
  [
    "an object whose prototype is a revoked Proxy",
    () => Object.create(revoked() as object) as unknown,
  ],
  ["a symbol", () => Symbol("body")],
  ["a bigint", () => 7n],
])("diagnoseSignature diagnoses a body that is %s", async (_, bodyOf) => {
  const codes = await codesOf({}, { body: bodyOf() });
  expect(codes).toEqual(["body_empty", "unexplained"]);
});

test.each([
  ["an object that contains itself", cycle],
  ["an invalid date", new Date(Number.NaN)],
])("diagnoseSignature does not reject for a body that is %s", async (_, odd) => {
  expect(await diagnose({}, { body: odd })).toMatchObject({ result: "bad" });
});

test.each<[string, unknown]>([
  ["a record of other things", { "x-webhook-id": {}, "x-webhook-signature": [null, 7, {}] }],
  ["an object whose get gives an object", { get: () => ({}) }],
  ["a revoked Proxy", revoked()],
  ["a Proxy that throws", new Proxy({}, THROWS)],
  ["a list of revoked Proxies", [revoked()]],
  ["a record of values that throw", { "X-Webhook-Id": revoked() }],
  ["endless", endless(["x-webhook-id", "a"])],
  ["endless, with invalid names", endless([7, "a"])],
  ["endless, and no lines", endless(7)],
  ["very long", { "x-webhook-id": "v".repeat(1e6), "x-webhook-signature": "v1=,".repeat(1e5) }],
])("diagnoseSignature does not reject for headers that are %s", async (_, headers) => {
  expect(await diagnose({}, { headers })).toMatchObject({ result: "bad" });
});

test("diagnoseSignature reads the bytes at the call, even if their buffer is transferred later", async () => {
  const body = new TextEncoder().encode(ALARM_BODY);
  const diagnosis = diagnose({ body: `${ALARM_BODY}\n` }, { body });
  detached(body);
  expect((await diagnosis).findings).toMatchObject([{ code: "body_trailing_newline" }]);
});

test("diagnoseSignature does not reject for random headers and bodies", async () => {
  const anything = fc.anything({ withNullPrototype: true, withMap: true, withTypedArray: true });
  await fc.assert(
    fc.asyncProperty(anything, anything, async (headers, odd) => {
      const { result, findings } = await diagnoseSignature({
        headers,
        body: odd,
        secret: SECRET,
      });
      expect([result, findings.length > 0]).toEqual(["bad", true]);
    }),
    { seed: 20_261_121 },
  );
});

test.each([
  ["method", 7, "invalid_option"],
  ["maxBodyBytes", 0, "invalid_option"],
  ["now", Number.NaN, "invalid_option"],
  ["timestampToleranceMs", -1, "invalid_option"],
  ["tolerance", 1, "unknown_option"],
])("diagnoseSignature rejects for the option %s of %j", async (name, value, code) => {
  const wrong = { ...captured(), [name]: value };
  await expect(diagnoseSignature(wrong)).rejects.toMatchObject({
    name: "ConfigurationError",
    code,
  });
});

test("diagnoseSignature names the index of a damaged secret among several", async () => {
  const secret = ["whsec_first", `${SECRET}\n`, "whsec_third"];
  const { findings, secretIndex } = await diagnose({}, { secret });
  expect(findings[0]).toMatchObject({ code: "secret_whitespace", secretIndex: 1 });
  expect(findings[0]?.message).toMatch(/^secret\[1\] /);
  expect(secretIndex).toBe(1);
});

test("diagnoseSignature finds the secret of the other type in otherSecrets and names its index", async () => {
  const otherSecrets = ["whsec_old", "whsec_events"];
  const { result, findings, secretIndex } = await diagnose(
    { secret: "whsec_events" },
    { otherSecrets },
  );
  expect(result).toBe("bad");
  expect(findings[0]).toMatchObject({
    code: "other_secret",
    certainty: "proven",
    otherSecretIndex: 1,
  });
  expect(secretIndex).toBeUndefined();
});

test("diagnoseSignature cannot find an unknown secret and reports what it tried", async () => {
  const { result, findings, tried } = await diagnose({ secret: "whsec_unknown" });
  expect(result).toBe("bad");
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({ code: "unexplained", certainty: "possible" });
  expect(findings[0]?.message).toContain(`${tried.signatures} signatures`);
  expect(findings[0]?.message).toContain("ost likely the secret is wrong");
  expect(tried.isComplete).toBe(true);
  expect(tried.signatures).toBeGreaterThan(1_000);
});

const long = "whsec_line of a file\n".repeat(500_000);

test("diagnoseSignature names a secret as long as a file and still finds the right one beside it", async () => {
  const { result, findings } = await diagnose({ secret: "whsec_unknown" }, { secret: long });
  expect(result).toBe("bad");
  expect(findings.map(({ code }) => code)).toEqual(["secret_refused", "unexplained"]);
  expect(findings[1]?.message).toContain("too large to try more");
  const secret = [long, `${SECRET}\n`];
  expect((await diagnose({}, { secret })).findings[0]).toMatchObject({
    code: "secret_whitespace",
    secretIndex: 1,
  });
});

test("diagnoseSignature accepts a secret as long as a file if it signs, as a receiver does", async () => {
  const secret = long.trim();
  expect(await diagnose({ secret }, { secret })).toMatchObject({ result: "good", findings: [] });
});

test("diagnoseSignature names a secret with white space even if it gives the signature", async () => {
  const { result, findings, secretIndex } = await diagnose(
    { secret: `${SECRET}\n` },
    { secret: `${SECRET}\n` },
  );
  expect(result).toBe("bad");
  expect(findings).toMatchObject([{ code: "secret_refused", certainty: "seen" }]);
  expect(secretIndex).toBe(0);
});

test.each([
  ["none", [], "missing_secret"],
  ["a number", 7, "unusable_secret"],
  ["a list with a hole", [undefined], "unusable_secret"],
  ["bytes", Buffer.from(SECRET), "unusable_secret"],
])("diagnoseSignature refuses a secret that is %s", async (_, secret, code) => {
  await expect(diagnose({}, { secret: secret as unknown as string })).rejects.toMatchObject({
    name: "ConfigurationError",
    code,
  });
});

const MEGABYTE = 1_048_576;

const record = {
  text: "Åsa <b> & co / å",
  payload: '{"a":"\\u00e5"}',
  z: 1,
  a: [1, 2, { b: null }],
};
const records = (bytes: number) =>
  JSON.stringify({ alarm: Array<unknown>(Math.floor(bytes / 90)).fill(record) });

test.each([
  ["records", records(MEGABYTE)],
  ["one long text", JSON.stringify({ alarm: { text: "å\n".repeat(MEGABYTE / 4) } })],
  ["numbers", JSON.stringify(Array<number>(MEGABYTE / 2).fill(1))],
  ["bytes that are not JSON", Buffer.alloc(MEGABYTE, 0xe5)],
  ["a zip bomb", Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.alloc(MEGABYTE)])],
  ["nesting", `${"[".repeat(MEGABYTE / 2)}${"]".repeat(MEGABYTE / 2)}`],
])("diagnoseSignature tries at most a thousand signatures for 1 MB of %s", async (_, body) => {
  const secret = ["whsec_one", "whsec_two", "whsec_three"];
  // A search that takes the square of the body's length does not end within the time of a test.
  const { tried } = await diagnose({ secret: "whsec_unknown" }, { secret, body });
  expect(tried.signatures).toBeLessThan(1_000);
});

test("diagnoseSignature still finds a re-serialized body of 1 MB", async () => {
  const body = records(MEGABYTE);
  const pretty = JSON.stringify(JSON.parse(body), null, 2);
  expect((await diagnose({ body: pretty }, { body })).findings[0]?.code).toBe("body_reserialised");
  expect((await diagnose({ body }, { body: pretty })).findings[0]?.code).toBe("body_reserialised");
});

test("diagnoseSignature tries only a few signatures for a body of 30 MB", async () => {
  const body = Buffer.alloc(30 * MEGABYTE, 0x61);
  const { tried, findings } = await diagnose({ secret: "whsec_unknown" }, { body });
  expect(tried.signatures).toBeLessThan(30);
  expect(findings.map(({ code }) => code)).toEqual(["body_too_large", "unexplained"]);
  expect(findings[1]?.message).toContain("too large to try more");
});

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return Symbol.iterator;
  }
}
