import { readJsonParts, type JsonPart } from "../json-parts.js";
import type { Clue } from "./finding.js";
import { JSON_ESCAPES, type JsonEscapes } from "./json-escapes.js";
import { JSON_KEY_ORDERS, orderKeys, type JsonKeyOrder } from "./json-key-orders.js";
import { JSON_LAYOUTS, writeJson, type JsonLayout } from "./json-layouts.js";
import type { SearchBudget } from "./search-budget.js";

/** Another spelling of the same JSON, with the clue that it assumes. */
export interface JsonSpelling {
  readonly text: string;
  readonly clue: Clue;
}

/** Writing one byte takes about as long as hashing this many. */
const WRITING_COST = 16;
/** Maximum length of a spelling, as a multiple of the captured text. */
const MAX_GROWTH = 8;
const MAX_MORE = 65_536;
/** Key orders are rarer than layouts and escapes, so they are tried later. */
const KEY_ORDER_RANK = 2;

/** The strings of a spelling by part. Contains only those that differ from the captured text. */
type Rewritten = ReadonlyMap<JsonPart, string>;

interface Plan {
  readonly layout: JsonLayout | undefined;
  readonly escapes: JsonEscapes | undefined;
  readonly order: JsonKeyOrder | undefined;
}

/**
 * The spellings that common programs give a JSON text, likely ones first, until the budget is used up.
 * Numbers stay as written: digits that a parser rounded away are lost.
 */
export function* jsonSpellings(text: string, budget: SearchBudget): Generator<JsonSpelling> {
  const cost = WRITING_COST * text.length;
  if (!budget.spend(cost)) return;
  const parts = readJsonParts(text);
  if (parts === undefined) return;
  const maxLength = MAX_GROWTH * text.length + MAX_MORE;
  const inCapture: Rewritten = new Map();
  const known = [inCapture];
  /** Undefined if the strings are equal to the capture or to another style. */
  const rewritten = onceEach((escapes: JsonEscapes | undefined) => {
    if (escapes === undefined) return inCapture;
    const changes = rewrite(parts, escapes);
    if (known.some((one) => isSame(one, changes))) return undefined;
    known.push(changes);
    return changes;
  });
  const reordered = onceEach((order: JsonKeyOrder | undefined) =>
    order === undefined ? parts : orderKeys(parts, order),
  );

  for (const plan of PLANS) {
    const { layout, escapes, order } = plan;
    if (!budget.spend(cost)) return;
    const changes = rewritten(escapes);
    const inOrder = reordered(order);
    if (changes === undefined || inOrder === undefined) continue;
    const quoted = (part: JsonPart): string => changes.get(part) ?? part.text;
    const spelled =
      layout === undefined
        ? rewriteInPlace(text, changes)
        : writeJson(inOrder, quoted, layout, maxLength);
    const more = (spelled?.length ?? maxLength) - text.length;
    if (more > 0 && !budget.spend(WRITING_COST * more)) return;
    if (spelled === undefined || spelled === text) continue;
    yield { text: spelled, clue: clueOf(plan) };
    // Go's encoder, println and echo end their output with a newline.
    yield { text: `${spelled}\n`, clue: clueOf(plan, ", and with a newline at its end") };
  }
}

/** Every combination of layout, escapes and key order, the most common first. */
const PLANS: readonly Plan[] = [undefined, ...JSON_LAYOUTS]
  .flatMap((layout, layoutRank) =>
    [undefined, ...JSON_ESCAPES].flatMap((escapes, escapesRank) => {
      // The captured layout is only white space between these parts. It cannot be used for another key order.
      const orders = layout === undefined ? [undefined] : [undefined, ...JSON_KEY_ORDERS];
      return orders.map((order, orderRank) => {
        const later = order === undefined ? 0 : KEY_ORDER_RANK + orderRank;
        const rank = layoutRank + escapesRank + later;
        return { rank, layout, escapes, order };
      });
    }),
  )
  .filter(({ layout, escapes }) => layout !== undefined || escapes !== undefined)
  .toSorted((one, other) => one.rank - other.rank);

/** A function that calls `make` once for each key. */
function onceEach<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}

function rewrite(parts: readonly JsonPart[], { quote }: JsonEscapes): Rewritten {
  const changes = new Map<JsonPart, string>();
  for (const part of parts) {
    if (part.kind !== "string") continue;
    const quoted = quote(valueOf(part));
    if (quoted !== part.text) changes.set(part, quoted);
  }
  return changes;
}

function isSame(one: Rewritten, other: Rewritten): boolean {
  if (one.size !== other.size) return false;
  for (const [part, quoted] of one) if (other.get(part) !== quoted) return false;
  return true;
}

function valueOf({ text }: JsonPart): string {
  return text.includes("\\") ? String(JSON.parse(text)) : text.slice(1, -1);
}

/** The captured text with its white space and with other strings. */
function rewriteInPlace(text: string, changes: Rewritten): string {
  let out = "";
  let end = 0;
  for (const [part, quoted] of changes) {
    out += text.slice(end, part.start) + quoted;
    end = part.end;
  }
  return out + text.slice(end);
}

function clueOf({ layout, escapes, order }: Plan, more = ""): Clue {
  const parts = [
    layout?.how,
    escapes && `its strings ${escapes.how}`,
    order && `keys ${order.how}`,
  ];
  const how = parts.filter((part) => part !== undefined).join("; ");
  const code = order ? "body_key_order" : layout ? "body_reserialised" : "body_escapes";
  return { code, message: `The same JSON was signed in another spelling: ${how}${more}.` };
}
