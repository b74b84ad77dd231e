import type { JsonPart } from "../json-parts.js";
import { DOCUMENTED_FIELDS } from "../recorder/documented-fields.js";

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
  {
    how: "in the order of the gateway's document, which the captured ones have lost",
    among: asDocumented,
  },
  { how: "sorted", among: () => byText },
  { how: "sorted by length, as PostgreSQL's jsonb and MySQL store them", among: () => byLength },
];

/** The fields in the order of the gateway's document, section "Alarm" and "Online Data event". */
const ALARM_FIELDS = quotedFields(DOCUMENTED_FIELDS.alarm);
const EVENT_FIELDS = quotedFields(DOCUMENTED_FIELDS.event);

function quotedFields(fields: object): readonly string[] {
  return Object.keys(fields).map((field) => JSON.stringify(field));
}

/** Fields that the document does not list come last, in their captured order. */
function asDocumented(keys: readonly string[]): Compare {
  const fields = keys.includes('"occurred_at"') ? EVENT_FIELDS : ALARM_FIELDS;
  const rankOf = (key: string): number =>
    fields.includes(key) ? fields.indexOf(key) : fields.length;
  return (one, other) => rankOf(one) - rankOf(other);
}

/** The comma between members. All commas are equal; its offset is not used. */
const COMMA: JsonPart = {
  kind: ",",
  role: undefined,
  text: ",",
  start: 0,
  end: 1,
  depth: 0,
  isInList: false,
  index: 0,
};

/** Deeper objects keep their order, because their content is copied at each level. */
const MAX_DEPTH = 50;

/** The parts with the members of each object reordered; undefined if the order does not change. */
export function orderKeys(
  parts: readonly JsonPart[],
  { among }: JsonKeyOrder,
): readonly JsonPart[] | undefined {
  const whole: JsonPart[] = [];
  /** The members of each open object. A list is a part of its member. */
  const open: JsonPart[][][] = [[whole]];
  let changes = 0;

  for (const part of parts) {
    const { kind, role, depth } = part;
    const isOrdered = depth <= MAX_DEPTH;
    if (isOrdered && kind === "}") {
      const members = open.pop() ?? [];
      const compare = among(members.map(([key]) => String(key?.text)));
      const sorted = members.toSorted(([one], [other]) =>
        compare(String(one?.text), String(other?.text)),
      );
      if (sorted.some((member, place) => member !== members[place])) changes++;
      const target = open.at(-1)?.at(-1);
      for (const [place, member] of sorted.entries()) {
        if (place > 0) target?.push(COMMA);
        // One by one: spreading a hundred thousand arguments overflows the stack.
        for (const one of member) target?.push(one);
      }
    }
    if (isOrdered && role === "key") open.at(-1)?.push([]);
    if (isOrdered && kind === "," && !part.isInList) continue;
    open.at(-1)?.at(-1)?.push(part);
    if (isOrdered && kind === "{") open.push([]);
  }
  return changes > 0 ? whole : undefined;
}
