import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { ALARM_BODY, captured, diagnose, macOf, NOW_MS, SECRET } from "./diagnosis-capture.js";

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

describe("good deliveries", () => {
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

  test.each([
    ["Headers", (record: Record<string, string>) => new Headers(record)],
    ["a Map", (record: Record<string, string>) => new Map(Object.entries(record))],
    ["pairs", (record: Record<string, string>) => Object.entries(record)],
    ["rawHeaders", (record: Record<string, string>) => Object.entries(record).flat()],
    [
      "entries of HAR",
      (record: Record<string, string>) =>
        Object.entries(record).map(([name, value]) => ({ name, value })),
    ],
    [
      "lists of one",
      (record: Record<string, string>) =>
        Object.fromEntries(Object.entries(record).map(([name, value]) => [name, [value]])),
    ],
    [
      "upper case",
      (record: Record<string, string>) =>
        Object.fromEntries(Object.entries(record).map(([n, value]) => [n.toUpperCase(), value])),
    ],
    [
      "an object with only get",
      (record: Record<string, string>) => {
        const headers = new Headers(record);
        return { get: (name: string) => headers.get(name) };
      },
    ],
  ])("diagnoseSignature accepts a good delivery with headers as %s", async (_, shape) => {
    const options = captured();
    const headers = shape(options.headers as Record<string, string>);
    expect(await diagnoseSignature({ ...options, headers })).toMatchObject({ result: "good" });
  });
});

describe("false explanations", () => {
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
});

describe("odd input", () => {
  const hostile: readonly unknown[] = [
    undefined,
    7,
    "X-Webhook-Id: a",
    [[], [1, 2], null, "x-webhook-id"],
    { "x-webhook-id": { nested: true }, "x-webhook-signature": [null, 7, {}] },
    { get: () => ({}) },
    Object.assign(Object.create(null) as object, { __proto__: "x", "x-webhook-id": "a" }),
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("not to be read");
        },
      },
    ),
    (function* () {
      for (;;) yield ["x-webhook-id", "a"];
    })(),
    // Invalid names count as header lines; a lone value counts as no line.
    (function* () {
      for (;;) yield [7, "a"];
    })(),
    (function* () {
      for (;;) yield 7;
    })(),
    {
      "x-webhook-id": "v".repeat(1e6),
      "x-webhook-timestamp": ",".repeat(1e5),
      "x-webhook-signature": "v1=,".repeat(1e5),
    },
  ];

  test("diagnoseSignature does not reject for headers and bodies of any shape", async () => {
    for (const headers of hostile) {
      const { result } = await diagnoseSignature({ headers, body: ALARM_BODY, secret: SECRET });
      expect(result).toBe("bad");
    }
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const odd of [Symbol("x"), () => 1, 7n, cycle, new Date(Number.NaN), [undefined], 1e6]) {
      expect(await diagnose({}, { body: odd })).toMatchObject({ result: "bad" });
    }
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

  test("diagnoseSignature rejects for an option that cannot work", async () => {
    const options = captured();
    for (const wrong of [{ now: Number.NaN }, { timestampToleranceMs: -1 }, { tolerance: 1 }]) {
      await expect(diagnoseSignature({ ...options, ...wrong })).rejects.toMatchObject({
        name: "ConfigurationError",
      });
    }
  });
});

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return Symbol.iterator;
  }
}
