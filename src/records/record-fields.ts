// How a value of each field of a record is read. The fields themselves stand in common/gateway-facts.ts;
// test/types/record-schemas.test-d.ts holds the interfaces equal to them.
import { ALARM, EVENT, EVENT_TYPES, type Fields } from "../common/gateway-facts.js";

/** The value that a field must have in a record of one type. */
export interface FieldRule {
  readonly name: string;
  readonly holds: "integer" | "text" | "null";
  readonly orNull: boolean;
  /** The documented values; undefined if it may have any. */
  readonly known: ReadonlySet<unknown> | undefined;
}

/** The rules of the records of one type. */
export interface RecordRules {
  readonly inOrder: readonly FieldRule[];
  /** The fields that depend on the type come last in a list of issues. */
  readonly siteLast: readonly FieldRule[];
}

/** `hasSite`: undefined for an event type that is not documented, which may have a site or not. */
function rulesOf(fields: Fields, hasSite?: boolean): RecordRules {
  const inOrder = Object.entries(fields).map(
    ([name, { kind, ofSite = false, values }]): FieldRule => ({
      name,
      holds: ofSite && hasSite === false ? "null" : kind === "integer" ? kind : "text",
      orNull: ofSite && hasSite === undefined,
      known: values && new Set<unknown>(values),
    }),
  );
  const isOfSite = ({ name }: FieldRule) => fields[name]?.ofSite === true;
  return {
    inOrder,
    siteLast: [...inOrder.filter((rule) => !isOfSite(rule)), ...inOrder.filter(isOfSite)],
  };
}

export const ALARM_RULES = rulesOf(ALARM);
const OTHER_EVENT_RULES = rulesOf(EVENT);
// A map, because a type named like a member of Object.prototype must not be found.
const EVENT_RULES: ReadonlyMap<unknown, RecordRules> = new Map(
  Object.entries(EVENT_TYPES).map(([type, { hasSite }]) => [type, rulesOf(EVENT, hasSite)]),
);

/** The rules of an event whose `type` has this value, of any kind. */
export function eventRules(type: unknown): RecordRules {
  return EVENT_RULES.get(type) ?? OTHER_EVENT_RULES;
}

export const EXPECTED_OBJECT = "expected an object";
const EXPECTED = {
  integer: "expected an integer",
  text: "expected a string",
  null: "expected null",
};

/** What an issue says of a value that a field must not have. Never the value, which is personal data. */
export function expected(holds: FieldRule["holds"], value: unknown): string {
  return holds !== "null" && isBeyondSafe(value)
    ? "expected no integer beyond 2^53 - 1, since its last digits are lost"
    : EXPECTED[holds];
}

function isBeyondSafe(value: unknown): boolean {
  if (typeof value === "string") return /^-?[0-9]{16,}$/.test(value);
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Legacy formats vary: an integer may come as its digits. */
export function digitsToNumber(value: unknown): unknown {
  return typeof value === "string" && /^-?[0-9]{1,16}$/.test(value) ? Number(value) : value;
}

/** Legacy formats vary: a text may come as a number. */
export function numberToText(value: unknown): unknown {
  return typeof value === "number" && isExact(value) ? String(value) : value;
}

/** Whether JSON.parse kept all digits: 12345678901234567890 arrives as …67000 and 1e400 as Infinity. */
export function isExact(value: number): boolean {
  return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
}
