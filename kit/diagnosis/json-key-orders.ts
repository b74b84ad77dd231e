import type { JsonToken } from "./json-tokens.js";

type Compare = (one: string, other: string) => number;

/** How a program orders the members of an object. */
export interface JsonKeyOrder {
  /** Ends the sentence "… was signed with keys …". */
  readonly how: string;
  /** The order of an object with these keys, each as it is written, with its quotes. */
  readonly among: (keys: readonly string[]) => Compare;
}

const byText: Compare = (one, other) => Number(one > other) - Number(one < other);
const byLength: Compare = (one, other) => one.length - other.length || byText(one, other);

export const JSON_KEY_ORDERS: readonly JsonKeyOrder[] = [
  { how: "in the order of GATEWAY.md, which the captured ones have lost", among: asDocumented },
  { how: "sorted", among: () => byText },
  { how: "sorted by length, as PostgreSQL's jsonb and MySQL store them", among: () => byLength },
];

/** The fields in the order of GATEWAY.md, "Alarm" and "Online Data event". */
const ALARM_FIELDS = ranksOf([
  "id",
  "text",
  "account_id",
  "severity",
  "status",
  "source",
  "event_type",
  "category_id",
  "original_event_id",
  "payload",
  "date",
  "checked_at",
  "created_at",
  "updated_at",
]);
const EVENT_FIELDS = ranksOf([
  "type",
  "severity",
  "account_id",
  "client_id",
  "site_id",
  "site_name",
  "site_base_url",
  "occurred_at",
]);

function ranksOf(fields: readonly string[]): ReadonlyMap<string, number> {
  return new Map(fields.map((field, rank) => [JSON.stringify(field), rank]));
}

/** Fields that the document does not list come last, in their captured order. */
function asDocumented(keys: readonly string[]): Compare {
  const fields = keys.includes('"occurred_at"') ? EVENT_FIELDS : ALARM_FIELDS;
  const rankOf = (key: string): number => fields.get(key) ?? fields.size;
  return (one, other) => rankOf(one) - rankOf(other);
}

/** The comma between members. All commas are equal; their offset is not used. */
const COMMA: JsonToken = { kind: ",", text: ",", at: 0 };

/** Deeper objects keep their order, because sorting is recursive and copies their content. */
const MAX_DEPTH = 50;

/** The tokens with the members of each object reordered; undefined if the order does not change. */
export function orderKeys(
  tokens: readonly JsonToken[],
  { among }: JsonKeyOrder,
): readonly JsonToken[] | undefined {
  const out: JsonToken[] = [];
  let at = 0;
  let changes = 0;

  function copy(count: number): void {
    // One by one: spreading a hundred thousand arguments overflows the stack.
    for (const token of tokens.slice(at, at + count)) out.push(token);
    at += count;
  }

  /** Copies the value at `at` with its objects reordered. */
  function copyValue(depth: number): void {
    const kind = tokens[at]?.kind;
    if (kind !== "{" && kind !== "[") copy(1);
    else if (depth > MAX_DEPTH) copy(lengthOfValue(tokens, at));
    else if (kind === "{") copyObject(depth);
    else copyList(depth);
  }

  function copyList(depth: number): void {
    copy(1);
    while (at < tokens.length && tokens[at]?.kind !== "]") {
      if (tokens[at]?.kind === ",") copy(1);
      else copyValue(depth + 1);
    }
    copy(1);
  }

  function copyObject(depth: number): void {
    copy(1);
    const start = out.length;
    const members: { key: string; start: number; end: number }[] = [];
    while (at < tokens.length && tokens[at]?.kind !== "}") {
      if (tokens[at]?.kind === ",") copy(1);
      const member = { key: String(tokens[at]?.text), start: out.length };
      copy(2);
      copyValue(depth + 1);
      members.push({ ...member, end: out.length });
    }
    const compare = among(members.map(({ key }) => key));
    const sorted = members.toSorted((one, other) => compare(one.key, other.key));
    if (sorted.some((member, place) => member !== members[place])) {
      changes++;
      const written = sorted.map((member) => out.slice(member.start, member.end));
      out.length = start;
      written.forEach((member, place) => {
        if (place > 0) out.push(COMMA);
        for (const token of member) out.push(token);
      });
    }
    copy(1);
  }

  copyValue(0);
  return changes > 0 ? out : undefined;
}

function lengthOfValue(tokens: readonly JsonToken[], start: number): number {
  let depth = 0;
  for (let at = start; at < tokens.length; at++) {
    const kind = tokens[at]?.kind;
    if (kind === "{" || kind === "[") depth += 1;
    if (kind === "}" || kind === "]") depth -= 1;
    if (depth === 0) return at + 1 - start;
  }
  return tokens.length - start;
}
