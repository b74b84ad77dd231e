import * as fc from "fast-check";
import { expect, test } from "vitest";
import { GENUINE, MALFORMED, NAMES, inCase, judge, type Name } from "./header-judge.js";

/**
 * A slow and obvious reference: it lists the texts under each lower-case name. More than one text,
 * or a value that is not a text, makes a record malformed. `verifySignature` does not read the
 * type.
 */
function slowReference(record: Readonly<Record<string, unknown>>) {
  const found = new Map<string, unknown[]>(NAMES.map((name) => [name, []]));
  for (const [name, given] of Object.entries(record)) {
    const texts = found.get(name.toLowerCase());
    if (Array.isArray(given)) texts?.push(...(given as unknown[]));
    else if (given !== undefined) texts?.push(given);
  }
  for (const texts of found.values()) {
    if (texts.length > 1 || texts.some((text) => typeof text !== "string")) return MALFORMED;
  }
  const textOf = (name: Name) => {
    const [text] = found.get(name) ?? [];
    if (text === undefined) return "missing";
    return text === GENUINE.headers[name] ? "genuine" : "malformed";
  };
  const [type, id, timestamp, signature] = [
    textOf("x-webhook-type"),
    textOf("x-webhook-id"),
    textOf("x-webhook-timestamp"),
    textOf("x-webhook-signature"),
  ];
  const isSigned = id === "genuine" && timestamp === "genuine" && signature === "genuine";
  const required = [type, id, timestamp].every((text) => text === "genuine");
  if (!required || signature === "malformed") return { outcome: "malformed", verified: isSigned };
  return { outcome: signature === "missing" ? "unsigned" : "handled", verified: isSigned };
}

test("as a property, records of headers are read as a slow reference reads them", async () => {
  const entry = (name: Name) => {
    const text = GENUINE.headers[name];
    const value = fc.oneof(
      { weight: 6, arbitrary: fc.constant<unknown>(text) },
      { weight: 3, arbitrary: fc.constant<unknown>([text]) },
      { weight: 3, arbitrary: fc.constantFrom<unknown>(undefined, []) },
      {
        weight: 1,
        // None of these texts fits any of the four grammars.
        arbitrary: fc.constantFrom<unknown>(
          ...["", "a b", `${text},${text}`, null, 5, true, { toString: () => text }],
          ...[
            [""],
            [5],
            [null],
            [undefined],
            [[text]],
            [text, text],
            [text, ""],
            [text, undefined],
          ],
        ),
      },
    );
    const mask = fc.oneof(fc.constantFrom(0, 0, 0xfffff, 1), fc.nat(0xfffff));
    return fc.record({ key: mask.map((bits) => inCase(name, bits)), value });
  };
  const decoy = fc.record({
    key: fc.oneof(
      fc.constantFrom(
        "x",
        "X",
        "X-Webhook",
        "x-webhook-idx",
        "x-webhook-i",
        "webhook-id",
        "__proto",
      ),
      fc.constantFrom("x_webhook_id", " x-webhook-id", "x-webhook-id ", "\uff58-webhook-id", ""),
      fc.string(),
    ),
    value: fc.constantFrom<unknown>("a", ["a", "b"], undefined, 5),
  });
  const entries = fc
    .tuple(
      ...NAMES.map((name) => {
        const once = fc.array(entry(name), { minLength: 1, maxLength: 1 });
        return fc.oneof({ weight: 4, arbitrary: once }, fc.array(entry(name), { maxLength: 3 }));
      }),
      fc.array(decoy, { maxLength: 3 }),
    )
    .chain((groups) => {
      const all = groups.flat();
      return fc.shuffledSubarray(all, { minLength: all.length });
    });
  const seen = new Map<string, number>();

  await fc.assert(
    fc.asyncProperty(entries, fc.boolean(), async (pairs, hasPrototype) => {
      const record = Object.create(hasPrototype ? Object.prototype : null) as Record<
        string,
        unknown
      >;
      for (const { key, value } of pairs) record[key] = value;
      const expected = slowReference(record);
      expect(await judge(record)).toEqual(expected);
      seen.set(expected.outcome, (seen.get(expected.outcome) ?? 0) + 1);
    }),
    { seed: 20_260_708, numRuns: 2_000 },
  );
  // A generator that makes almost only malformed records would prove little.
  for (const outcome of ["handled", "unsigned", "malformed"]) {
    expect(seen.get(outcome), outcome).toBeGreaterThan(100);
  }
});
