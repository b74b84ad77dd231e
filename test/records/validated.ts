import { expect } from "vitest";
import * as z from "zod/mini";
import type { DeliveryIssue } from "../../src/records/decoded.js";
import {
  deleteMyDataEventSchema,
  newAlarmSchema,
  onlineDataEventSchema,
} from "../../src/records/schemas.js";
import { delivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** The documented types of events with a site, then the other types, documented or not. */
export const SITE_EVENTS = [
  "DELETION_REQUEST_SENT",
  "USER_MANUAL_INSTRUCTIONS_SENT",
  "DATA_DELETED",
  "DATA_REAPPEARED",
  "PERSONAL_DATA_FOUND",
  "PERSONAL_DATA_NOT_FOUND",
];
const NO_SITE_EVENT = "POWER_OF_ATTORNEY_SIGNED";
const UNKNOWN_EVENTS = ["DATA_MOVED", "data_deleted", "", "__proto__", "constructor"];
export const ALL_EVENTS = [...SITE_EVENTS, NO_SITE_EVENT, ...UNKNOWN_EVENTS];

/**
 * Values of a field as JSON text, because a parsed number may differ from the number in the text.
 */
export const ODD_VALUES = [
  ...["null", "true", "false", "[]", "{}", "[5]", '["x"]', '{"length":1}', '{"toString":"x"}'],
  ...["0", "-0", "5", "-5", "1.5", "1e3", "1e21", "1e400", "5.0", "1e-7"],
  ...["9007199254740991", "-9007199254740991", "9007199254740992", "-9007199254740993"],
  ...['""', '"x"', '"5"', '"-5"', '"007"', '"-0"', '"+5"', '" 5"', '"5\\n"', '"1e3"', '"1.5"'],
  ...['"9007199254740991"', '"9007199254740992"', '"12345678901234567890"', '"\uff15"', '"null"'],
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
type Judgement =
  { readonly record: [string, unknown][] } | { readonly issues: readonly DeliveryIssue[] };

/** The result of `receive` for a body. */
async function received(type: string, body: string): Promise<Judgement> {
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
  expect((await receive(await delivery({ type, body }))).outcome).toBe("handled");
  const [judgement] = judgements;
  if (judgement === undefined || judgements.length > 1) throw new Error("not handled once");
  return judgement;
}

/**
 * The same result by validation only. Unknown fields are as sent; the output of the schemas lacks
 * them.
 */
export function validated(type: string, body: string): Judgement {
  const sent = JSON.parse(body) as { alarm: object; event: object };
  const withConverted = (record: object, output: object): Judgement => {
    const converted = new Map<string, unknown>(Object.entries(output));
    return {
      record: Object.entries(record).map(([name, value]: [string, unknown]) => [
        name,
        converted.has(name) ? converted.get(name) : value,
      ]),
    };
  };
  if (type === "new_alarm") {
    const result = z.safeParse(newAlarmSchema, sent);
    return result.success
      ? withConverted(sent.alarm, result.data.alarm)
      : { issues: issuesOf(result.error, []) };
  }
  const result = z.safeParse(deleteMyDataEventSchema, sent);
  if (result.success) return withConverted(sent.event, result.data.event);
  // The union reports the issues of both members. Only those of the intended member count.
  const [known, open] = onlineDataEventSchema.def.options;
  const isKnown = [...SITE_EVENTS, NO_SITE_EVENT].includes(
    (sent.event as { type?: string } | null)?.type ?? "",
  );
  const { error } = z.safeParse(isKnown ? known : open, sent.event);
  if (error === undefined) throw new Error("a member takes what the union refuses");
  return { issues: issuesOf(error, ["event"]) };
}

function issuesOf(error: z.core.$ZodError, parent: readonly string[]): DeliveryIssue[] {
  return error.issues.map(({ path, message }) => ({
    path: [...parent, ...path] as string[],
    message,
  }));
}

/**
 * Fails if `receive` and the schemas disagree about a body. Returns whether the body was accepted.
 */
export async function expectAsValidated(type: string, body: string) {
  const expected = validated(type, body);
  expect(await received(type, body), body).toStrictEqual(expected);
  return "record" in expected;
}
