import { expect } from "vitest";
import type { DeliveryIssue } from "../../src/records/decoded.js";
import { deleteMyDataEventSchema, newAlarmSchema } from "../../src/records/schemas.js";
import type { StandardSchema } from "../../src/records/standard-schema.js";
import { delivery } from "../support/deliveries.js";
import { EVENT_TYPES } from "./documented-values.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** The types of events, documented or not. */
export const ALL_EVENTS = [
  ...EVENT_TYPES,
  "DATA_MOVED",
  "data_deleted",
  "",
  "__proto__",
  "constructor",
];

/**
 * Values of a field as JSON text, because a parsed number may differ from the number in the text.
 */
export const ODD_VALUES = [
  "null",
  "true",
  "false",
  "[]",
  "{}",
  "[5]",
  '["x"]',
  '{"length":1}',
  '{"toString":"x"}',
  "0",
  "-0",
  "5",
  "-5",
  "1.5",
  "1e3",
  "1e21",
  "1e400",
  "5.0",
  "1e-7",
  "9007199254740991",
  "-9007199254740991",
  "9007199254740992",
  "-9007199254740993",
  '""',
  '"x"',
  '"5"',
  '"-5"',
  '"007"',
  '"-0"',
  '"+5"',
  '" 5"',
  '"5\\n"',
  '"1e3"',
  '"1.5"',
  '"9007199254740991"',
  '"9007199254740992"',
  '"12345678901234567890"',
  '"\uff15"',
  '"null"',
];

export type Fields = Readonly<Record<string, string>>;

/** Each field of a record as JSON text. */
export function textsOf(record: object): Fields {
  const fields = Object.entries(record) as [string, unknown][];
  return Object.fromEntries(fields.map(([name, value]) => [name, JSON.stringify(value)]));
}

/** The record with these JSON texts. A field that is undefined is left out. */
export function jsonOf(fields: Readonly<Record<string, string | undefined>>): string {
  const members = Object.entries(fields).flatMap(([name, text]) =>
    text === undefined ? [] : [`${JSON.stringify(name)}:${text}`],
  );
  return `{${members.join(",")}}`;
}

/** The fields of a record in their order, or the issues of the record. */
interface Judgement {
  readonly record?: [string, unknown][];
  readonly issues?: readonly DeliveryIssue[];
}

const judgements: Judgement[] = [];
const record = (value: object) => {
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  judgements.push({ record: Object.entries(value) });
};
const { receive } = recordingReceiver({
  handlers: {
    new_alarm: record,
    delete_my_data_event: record,
    unrecognized: ({ issues }) => judgements.push({ issues }),
  },
});
let sent = 0;

/** The result of `receive` for a body. */
async function received(type: string, body: string): Promise<Judgement | undefined> {
  const request = await delivery({ id: `judged-${String(sent++)}`, type, body });
  expect((await receive(request)).outcome).toBe("handled");
  expect(judgements).toHaveLength(1);
  return judgements.pop();
}

/** The result of a schema of `/schemas`: the value, or the path and message of each issue. */
export function judged<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): { readonly value?: Output; readonly issues?: readonly DeliveryIssue[] } {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) throw new TypeError("the schema is asynchronous");
  if (result.issues === undefined) return { value: result.value };
  const issues = result.issues.map(({ path = [], message }) => ({
    path: path as DeliveryIssue["path"],
    message,
  }));
  return { issues };
}

/** The value that a schema makes of an input that it accepts. */
export function parsed<Output>(schema: StandardSchema<Output>, value: unknown): Output | undefined {
  const { issues, value: output } = judged(schema, value);
  expect(issues).toBeUndefined();
  return output;
}

/** The result of `/schemas` for a body. Unknown fields are as sent: the output of zod lacks `__proto__`. */
function validated(type: string, body: string): Judgement {
  const [owner, schema]: [string, StandardSchema<object>] =
    type === "new_alarm" ? ["alarm", newAlarmSchema] : ["event", deleteMyDataEventSchema];
  const given = JSON.parse(body) as Readonly<Record<string, object>>;
  const { value, issues } = judged(schema, given);
  if (issues !== undefined) return { issues };
  const output = new Map<string, unknown>(
    Object.entries(Reflect.get(value ?? {}, owner) as object),
  );
  const record = Object.entries(given[owner] ?? {}).map(
    ([name, as]: [string, unknown]): [string, unknown] => [
      name,
      output.has(name) ? output.get(name) : as,
    ],
  );
  return { record };
}

/**
 * Fails if `receive` and the schemas disagree about a body. Returns whether the body was accepted.
 */
export async function expectAsValidated(type: string, body: string) {
  const expected = validated(type, body);
  expect(await received(type, body), body).toStrictEqual(expected);
  return expected.issues === undefined;
}
