import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSignature } from "../../src/delivery/headers.js";
import { NOW_SECONDS } from "../support/deliveries.js";
import { rawDelivery, type RawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

// Every text here has a valid signature, so only the grammar can refuse it.

const HANDLED = { outcome: "handled", status: 200, runs: 1 };
const MALFORMED = { outcome: "malformed", status: 409, runs: 0 };

/** The outcome of a delivery that arrives at the time of its own timestamp, if that is one. */
async function outcomeOf(raw: RawDelivery) {
  const now = Number(raw.timestamp ?? NOW_SECONDS) * 1000;
  const { receive, handled } = recordingReceiver({
    now: () => (Number.isNaN(now) ? NOW_SECONDS * 1000 : now),
  });
  const { outcome, status } = await receive(rawDelivery(raw));
  return { outcome, status, runs: handled.length };
}

describe.each([
  ["a colon", ":"],
  ["a comma", ","],
  ["a newline", "\n"],
  ["a NUL", "\0"],
  ["a slash, the character before 0", "/"],
  ["U+0136, whose low byte is a 6", "\u0136"],
  ["a full-width digit", "\uff16"],
  ["the Kelvin sign, which lower-cases to a k", "\u212a"],
  ["half a surrogate pair", "\ud835"],
])("%s", (forbidden, character) => {
  test.each([
    ["at the front", 0],
    ["at the end", 9],
  ])(`${forbidden} %s of a header is refused`, async (_, place) => {
    const put = (text: string) => text.slice(0, place) + character + text.slice(place);
    expect(await outcomeOf({ id: put("abcdef") })).toEqual(MALFORMED);
    expect(await outcomeOf({ type: put("new_alarm") })).toEqual(MALFORMED);
    expect(await outcomeOf({ timestamp: put("176000000") })).toEqual(MALFORMED);
  });
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

test.each(["0", "999999999999", "001760000000"])(
  "the timestamp %j is accepted and signed as that text",
  async (timestamp) => {
    expect(await outcomeOf({ timestamp })).toEqual(HANDLED);
  },
);

test.each(["1000000000000", "-1760000000", "1.76e9", "0x68e778", "NaN"])(
  "the timestamp %j is malformed",
  async (timestamp) => {
    expect(await outcomeOf({ timestamp })).toEqual(MALFORMED);
  },
);

test.each(["__proto__", "x".repeat(128)])("the id %j is accepted", async (id) => {
  expect(await outcomeOf({ id })).toEqual(HANDLED);
});

test.each([129, 100_000])("an id of %i characters is malformed", async (length) => {
  expect(await outcomeOf({ id: "x".repeat(length) })).toEqual(MALFORMED);
});

test("a type of 128 characters is a type mismatch, and a longer type is malformed", async () => {
  expect(await outcomeOf({ type: "x".repeat(129) })).toEqual(MALFORMED);
  expect((await outcomeOf({ type: "x".repeat(128) })).outcome).toBe("type_mismatch");
});

test("a documented type in another letter case is a type mismatch", async () => {
  expect((await outcomeOf({ type: "New_Alarm" })).outcome).toBe("type_mismatch");
});

const settings = { seed: 20_260_708, numRuns: 150 };

test("as a property, every id and timestamp that fits the grammar is handled", async () => {
  const ids = fc.stringMatching(/^[0-9A-Za-z._-]{1,128}$/);
  const timestamps = fc.stringMatching(/^[0-9]{1,12}$/);
  await fc.assert(
    fc.asyncProperty(ids, timestamps, async (id, timestamp) => {
      expect(await outcomeOf({ id, timestamp })).toEqual(HANDLED);
    }),
    settings,
  );
});

test("as a property, every id, type or timestamp outside the grammar is refused, even if it is signed", async () => {
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
      const isId = /^[0-9A-Za-z._-]{1,128}$/.test(text);
      const isTimestamp = /^[0-9]{1,12}$/.test(text);
      // The spaces around a text are not part of the value, so its signature covers another text.
      fc.pre(!isId && !isTimestamp && !/^[ \t]|[ \t]$/.test(text));
      expect((await receive(rawDelivery({ id: text }))).outcome).toBe("malformed");
      expect((await receive(rawDelivery({ type: text }))).outcome).toBe("malformed");
      expect((await receive(rawDelivery({ timestamp: text }))).outcome).toBe("malformed");
    }),
    settings,
  );
  expect(handled).toEqual([]);
});

test.each<[string, (signature: string) => string]>([
  ["without a digit", () => "v1="],
  ["with 63 digits", (signature) => signature.slice(0, -1)],
  ["with 65 digits", (signature) => `${signature}0`],
  ["without v1=", (signature) => signature.slice(3)],
  ["as V1=", (signature) => `V${signature.slice(1)}`],
  ["as v2=", (signature) => `v2${signature.slice(2)}`],
  ["as sha256=", (signature) => `sha256=${signature.slice(3)}`],
  ["with a no-break space in front", (signature) => `\u00a0${signature}`],
  ["with a newline at the end", (signature) => `${signature}\n`],
  ["after a text without a scheme", (signature) => `other,${signature}`],
  ["after a comma alone", (signature) => `,${signature}`],
  ["before a comma alone", (signature) => `${signature},`],
  ["after two commas", (signature) => `v2=a,,${signature}`],
  ["after a tab", (signature) => `v2=a\t${signature}`],
  ["after a semicolon", (signature) => `v2=a;${signature}`],
  ["after eight others", (signature) => `${"v2=a,".repeat(8)}${signature}`],
  ["beside a scheme with a colon", (signature) => `v1:a=b,${signature}`],
])("the signature header is malformed %s", async (_, change) => {
  const { receive } = recordingReceiver();
  const { headers, body } = rawDelivery();
  const signature = change(headers["x-webhook-signature"]);
  const signed = { ...headers, "x-webhook-signature": signature };
  expect((await receive({ headers: signed, body })).outcome).toBe("malformed");
});

const ZEROS = `v1=${"0".repeat(64)}`;

test.each<[string, (signature: string) => string | string[]]>([
  ["twice, with a comma", (signature) => `${signature},${signature}`],
  ["after a wrong one and a space", (signature) => `${ZEROS} ${signature}`],
  ["before a wrong one, a comma and a space", (signature) => `${signature}, ${ZEROS}`],
  ["after a v1 that is too short", (signature) => `v1=0 ${signature}`],
  ["after another scheme", (signature) => `v2=YWJj/+==,${signature}`],
  ["with digits of the other letter case", (text) => `v2=a v1=${text.slice(3).toUpperCase()}`],
  ["as the last of eight", (signature) => `${"v2=a,".repeat(7)}${signature}`],
  ["on the second of two lines", (signature) => [ZEROS, signature]],
  ["on a line after a list", (signature) => [`v2=a, ${ZEROS} `, `\t${signature}`]],
])("a good signature is accepted %s", async (_, change) => {
  const { receive } = recordingReceiver();
  const { headers, body } = rawDelivery();
  const signed = { ...headers, "x-webhook-signature": change(headers["x-webhook-signature"]) };
  expect((await receive({ headers: signed, body })).outcome).toBe("handled");
});

test("a good signature is accepted under a second spelling of the header, and as a second line of Headers", async () => {
  const { receive } = recordingReceiver();
  const { headers, body } = rawDelivery();
  const lines = new Headers(headers);
  lines.set("x-webhook-signature", "v2=a");
  lines.append("x-webhook-signature", headers["x-webhook-signature"]);
  expect((await receive({ headers: lines, body })).outcome).toBe("handled");
  const twice = { "X-Webhook-Signature": "v2=a", ...headers };
  expect((await receive({ headers: twice, body })).outcome).toBe("duplicate");
});

test("eight wrong signatures are a mismatch, and a value that is no text is malformed", async () => {
  const { receive } = recordingReceiver();
  const { headers, body } = rawDelivery();
  const outcomeWith = async (signature: unknown) => {
    const changed = { ...headers, "x-webhook-signature": signature as string };
    return (await receive({ headers: changed, body })).outcome;
  };
  expect(await outcomeWith(Array.from({ length: 8 }, () => ZEROS))).toBe("signature_mismatch");
  expect(await outcomeWith([headers["x-webhook-signature"], 7])).toBe("malformed");
});

test("of all characters, only the 22 hexadecimal digits are accepted in a signature", () => {
  const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
  const accepted = all.filter((one) => isSignature(`v1=${one}${"0".repeat(63)}`));
  expect(accepted.join("")).toBe("0123456789ABCDEFabcdef");
});
