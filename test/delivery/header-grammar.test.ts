import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NOW_SECONDS } from "../support/deliveries.js";
import { rawDelivery, type RawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

// Every text here has a valid signature, so only the grammar can refuse it.

const HANDLED = { outcome: "handled", status: 200, runs: 1 };
const MALFORMED = { outcome: "malformed", status: 409, runs: 0 };

/** The outcome of a delivery that arrives at the time of its own timestamp. */
async function outcomeOf(raw: RawDelivery) {
  const now = Number(raw.timestamp ?? NOW_SECONDS) * 1000;
  const { receive, handled } = recordingReceiver({ now: () => now });
  const { outcome, status } = await receive(rawDelivery(raw));
  return { outcome, status, runs: handled.length };
}

const FORBIDDEN = [
  ["a colon", ":"],
  ["a comma", ","],
  ["a newline", "\n"],
  ["a carriage return", "\r"],
  ["a line separator", "\u2028"],
  ["a NUL", "\0"],
  ["a slash", "/"],
  ["a plus sign", "+"],
  ["a percent escape", "%3A"],
  ["a quotation mark", '"'],
  ["a non-ASCII letter", "Å"],
  ["U+0136, whose low byte is a 6", "\u0136"],
  ["U+0161, whose low byte is an a", "\u0161"],
  ["a full-width digit", "\uff16"],
  ["an Arabic digit", "\u0666"],
  ["the Kelvin sign, which lower-cases to a k", "\u212a"],
  ["a zero-width space", "\u200b"],
  ["a byte order mark", "\ufeff"],
  ["a character beyond 16 bits", "\u{1d7d4}"],
  ["half a surrogate pair", "\ud835"],
] as const;

describe.each(FORBIDDEN)("%s", (forbidden, character) => {
  test.each(["at the front", "inside", "at the end"] as const)(
    `${forbidden} %s of a header is refused`,
    async (place) => {
      const put = (text: string) => {
        if (place === "at the front") return character + text;
        return place === "inside"
          ? `${text.slice(0, 3)}${character}${text.slice(3)}`
          : text + character;
      };
      expect(await outcomeOf({ id: put("abcdef") })).toEqual(MALFORMED);
      expect(await outcomeOf({ type: put("new_alarm") })).toEqual(MALFORMED);
      const { receive, handled } = recordingReceiver();
      const { status, outcome } = await receive(
        rawDelivery({ timestamp: put(String(NOW_SECONDS).slice(0, 9)) }),
      );
      expect({ status, outcome, runs: handled.length }).toEqual(MALFORMED);
    },
  );
});

describe.each([
  ["spaces", "  "],
  ["tabs", "\t\t"],
])("%s", (kind, blanks) => {
  const trimmed = { id: "abcdef", timestamp: String(NOW_SECONDS), type: "new_alarm" };

  test(`${kind} around a header's value are ignored, also in an array and around the signature`, async () => {
    const { receive, handled } = recordingReceiver({ now: () => NOW_SECONDS * 1000 });
    const { headers, body } = rawDelivery(trimmed);
    const padded = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, `${blanks}${value}${blanks}`]),
    );
    expect(await receive({ headers: padded, body })).toMatchObject({ outcome: "handled" });
    const arrays = Object.fromEntries(Object.entries(padded).map(([name, text]) => [name, [text]]));
    expect(await receive({ headers: arrays, body })).toMatchObject({ outcome: "duplicate" });
    expect(handled).toHaveLength(1);
  });

  test.each(
    (["id", "timestamp", "type"] as const).flatMap((name) => [
      ["inside", name, `${trimmed[name].slice(0, 3)}${blanks}${trimmed[name].slice(3)}`] as const,
      ["as the only content of", name, blanks] as const,
    ]),
  )(`${kind} %s the %s are malformed`, async (_where, name, text) => {
    const { receive } = recordingReceiver({ now: () => NOW_SECONDS * 1000 });
    const { outcome } = await receive(rawDelivery({ ...trimmed, [name]: text }));
    expect(outcome).toBe("malformed");
  });
});

describe("the timestamp", () => {
  test.each(["0", "7", "1760000000", "999999999999", "001760000000", "000000000000"])(
    "the timestamp %j is accepted and signed as that text",
    async (timestamp) => {
      expect(await outcomeOf({ timestamp })).toEqual(HANDLED);
    },
  );

  test.each([
    "1000000000000",
    "0001760000000",
    "-1760000000",
    "1760000000.0",
    "1.76e9",
    "0x68e778",
    "1_760_000",
    "NaN",
  ])("the timestamp %j is malformed", async (timestamp) => {
    expect(await outcomeOf({ timestamp })).toEqual(MALFORMED);
  });
});

describe("the id", () => {
  test.each([
    "a",
    "Z",
    "0",
    ".",
    "_",
    "-",
    "..",
    "__proto__",
    "constructor",
    "undefined",
    "x".repeat(128),
  ])("the id %j is accepted", async (id) => {
    expect(await outcomeOf({ id })).toEqual(HANDLED);
  });

  test.each([129, 1_000, 100_000])("an id of %i characters is malformed", async (length) => {
    expect(await outcomeOf({ id: "x".repeat(length) })).toEqual(MALFORMED);
  });
});

describe("the type", () => {
  test("a type of 128 characters is a type mismatch, and a longer type is malformed", async () => {
    expect(await outcomeOf({ type: "x".repeat(129) })).toEqual(MALFORMED);
    expect((await outcomeOf({ type: "x".repeat(128) })).outcome).toBe("type_mismatch");
  });

  test("a documented type in another letter case is a type mismatch", async () => {
    expect((await outcomeOf({ type: "New_Alarm" })).outcome).toBe("type_mismatch");
  });
});

describe("as properties", () => {
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-";
  const settings = { seed: 20_260_708, numRuns: 300 };

  test("as a property, every id that fits the grammar is handled", async () => {
    const ids = fc.string({
      unit: fc.constantFrom(...Array.from(letters)),
      minLength: 1,
      maxLength: 128,
    });
    await fc.assert(
      fc.asyncProperty(ids, async (id) => {
        expect(await outcomeOf({ id })).toEqual(HANDLED);
      }),
      settings,
    );
  });

  test("as a property, every timestamp that fits the grammar is handled", async () => {
    const digits = fc.string({
      unit: fc.constantFrom(...Array.from("0123456789")),
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(digits, async (timestamp) => {
        expect(await outcomeOf({ timestamp })).toEqual(HANDLED);
      }),
      settings,
    );
  });

  test("as a property, every id or timestamp outside the grammar is refused, even if it is signed correctly", async () => {
    const texts = fc.oneof(
      fc.string({ unit: "binary", maxLength: 140 }),
      fc.string({ unit: "binary-ascii", maxLength: 140 }),
      fc
        .tuple(
          fc.constantFrom("abc", "1760"),
          fc.string({ unit: "binary", minLength: 1, maxLength: 2 }),
        )
        .map((parts) => parts.join("")),
    );
    const { receive, handled } = recordingReceiver();
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const isId =
          text.length > 0 &&
          text.length <= 128 &&
          Array.from(text).every((one) => letters.includes(one));
        const isTimestamp =
          text.length > 0 &&
          text.length <= 12 &&
          Array.from(text).every((one) => "0123456789".includes(one));
        // The spaces around a text are not part of the value, so its signature covers another text.
        fc.pre(!isId && !isTimestamp && !/^[ \t]|[ \t]$/.test(text));
        expect((await receive(rawDelivery({ id: text }))).outcome).toBe("malformed");
        expect((await receive(rawDelivery({ timestamp: text }))).outcome).toBe("malformed");
      }),
      settings,
    );
    expect(handled).toEqual([]);
  });
});
