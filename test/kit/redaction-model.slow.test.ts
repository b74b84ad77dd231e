import fc from "fast-check";
import { expect, test } from "vitest";
import { AlarmPayloadError, parseAlarmPayload, type Alarm } from "../../src/index.js";
import { decode } from "../../src/records/decode.js";
import { redactBody } from "../../kit/recorder/redact-body.js";
import { checkRedactionRules } from "../../kit/recorder/redaction-rules.js";
import { alarm, onlineDataEvent } from "../support/deliveries.js";

const NOTHING_KEPT = checkRedactionRules();

/** How the receiver decodes a body, with each issue. */
function judged(body: Uint8Array, type: string): unknown {
  const decoded = decode(body, type);
  return decoded.kind === "unrecognized"
    ? { kind: decoded.kind, issues: decoded.issues }
    : { kind: decoded.kind };
}

/** How a payload is read: the code of its error or the type of its value. */
function payloadForm(body: Uint8Array): string | undefined {
  const decoded = decode(body, "new_alarm");
  if (decoded.kind !== "new_alarm") return undefined;
  const { payload }: Alarm = decoded.record;
  try {
    const value = parseAlarmPayload({ payload });
    return Array.isArray(value) ? "list" : value === null ? "null" : typeof value;
  } catch (error) {
    return error instanceof AlarmPayloadError ? error.code : "another error";
  }
}

/** Numbers at the limits of the schemas, as JSON text. */
const numbers = fc.oneof(
  fc.maxSafeInteger().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,4})?$/),
  fc.constantFrom("9007199254740991", "-9007199254740992", "1e400", "1.0", "-0", "1e16"),
);
const texts = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.stringMatching(/^-?[0-9]{1,18}$/),
  fc.constantFrom("", " ", "\u00a0", "High", "DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", "3"),
  fc.json(),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);
const values = fc.oneof(
  numbers,
  texts.map((text) => JSON.stringify(text)),
  fc.json(),
  fc.constantFrom("null", "true", "[]", "{}"),
);
const fields = [
  ...Object.keys(alarm()),
  ...Object.keys(onlineDataEvent("")),
  "__proto__",
  "constructor",
];

const KEYS_KEPT = checkRedactionRules({
  keepKeys: fields.flatMap((name) =>
    ["alarm", "event", "meta", "alarm.payload"].map((at) => `${at}.${name}`),
  ),
});

/** A documented body with some values replaced and some keys added, sometimes with both records. */
const bodies = fc
  .tuple(
    fc.constantFrom("alarm", "event", "meta"),
    fc.constantFrom(alarm(), onlineDataEvent("DATA_DELETED"), onlineDataEvent("A_NEW_TYPE")),
    fc.array(fc.tuple(fc.oneof(fc.constantFrom(...fields), fc.string()), values), { maxLength: 4 }),
    fc.option(fc.tuple(fc.constantFrom("alarm", "event", "x"), values), { freq: 6 }),
    fc.constantFrom("", " ", "\n\t"),
  )
  .map(([name, record, changes, other, space]) => {
    const members = Object.entries(record).map(([key, value]) => [key, JSON.stringify(value)]);
    const written = [...members, ...changes].map(
      ([key, json]) => `${JSON.stringify(key)}${space}:${json ?? ""}${space}`,
    );
    const more = other === null ? "" : `,${JSON.stringify(other[0])}:${other[1]}`;
    return Buffer.from(`${space}{${JSON.stringify(name)}:{${written.join(",")}}${more}}`);
  });
const anyBody = fc.oneof(
  { weight: 8, arbitrary: bodies },
  values.map((json) => Buffer.from(json)),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);
const types = fc.constantFrom("new_alarm", "delete_my_data_event", "unknown_type");

test.each([
  ["with nothing kept", NOTHING_KEPT],
  ["with keys kept", KEYS_KEPT],
])("redaction %s does not change how the receiver decodes the body", (_, rules) => {
  fc.assert(
    fc.property(anyBody, types, (body, type) => {
      const { bytes } = redactBody(body, rules);
      expect(judged(bytes, type)).toEqual(judged(body, type));
      expect(payloadForm(bytes)).toBe(payloadForm(body));
      expect(redactBody(body, rules).bytes).toEqual(bytes);
      // Redacting again changes nothing.
      expect(redactBody(bytes, rules).bytes).toEqual(bytes);
    }),
    { numRuns: 3_000, seed: 4 },
  );
});

test("redaction removes any text from keys and values in every field", () => {
  const secret = fc
    .stringMatching(/^[B-WYZa-wyzåäö]{3}[0-8][B-WYZa-wyzåäö ]{2,10}$/)
    // So begins the placeholder of a key.
    .filter((text) => !text.startsWith("key"));
  fc.assert(
    fc.property(secret, fc.constantFrom(...fields), fc.boolean(), (text, field, isNested) => {
      const value = isNested ? { [text]: [text, { value: text }] } : text;
      const body = JSON.stringify({
        [text]: text,
        alarm: { ...alarm(), [field]: value, payload: JSON.stringify({ [text]: [value] }) },
      });
      const { text: redacted = "" } = redactBody(Buffer.from(body), NOTHING_KEPT);
      expect(redacted).not.toContain(text);
      expect(redacted).not.toContain(text.slice(0, 4));
    }),
    { numRuns: 1_000, seed: 4 },
  );
});
