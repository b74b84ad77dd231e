import type { Clue } from "./finding.js";
import { JSON_ESCAPES, type JsonEscapes } from "./json-escapes.js";
import { JSON_KEY_ORDERS, orderKeys, type JsonKeyOrder } from "./json-key-orders.js";
import { JSON_LAYOUTS, writeJson, type JsonLayout } from "./json-layouts.js";
import { readJsonTokens, type JsonToken } from "./json-tokens.js";
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
const KEY_ORDER_RANK = 3;

/** The strings of a spelling by token. Contains only those that differ from the captured text. */
type Rewritten = ReadonlyMap<JsonToken, string>;

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
  const tokens = readJsonTokens(text);
  if (tokens === undefined) return;
  const maxLength = MAX_GROWTH * text.length + MAX_MORE;
  const rewritten = createRewritten(tokens);
  const reordered = createReordered(tokens);

  for (const plan of PLANS) {
    const { layout, escapes, order } = plan;
    if (!budget.spend(cost)) return;
    const changes = rewritten(escapes);
    const inOrder = reordered(order);
    if (changes === undefined || inOrder === undefined) continue;
    const quoted = (token: JsonToken): string => changes.get(token) ?? token.text;
    const spelled =
      layout === undefined
        ? rewriteInPlace(text, changes)
        : writeJson(inOrder, quoted, layout, maxLength);
    const more = (spelled?.length ?? maxLength) - text.length;
    if (more > 0 && !budget.spend(WRITING_COST * more)) return;
    if (spelled === undefined || spelled === text) continue;
    const clue = clueOf(plan);
    yield { text: spelled, clue };
    // Go's encoder, println and echo end their output with a newline.
    const message = clue.message.replace(/\.$/, ", and with a newline at its end.");
    yield { text: `${spelled}\n`, clue: { ...clue, message } };
  }
}

/** Every combination of layout, escapes and key order, the most common first. */
const PLANS: readonly Plan[] = allPlans();

function allPlans(): readonly Plan[] {
  const layouts = [undefined, ...JSON_LAYOUTS];
  const escapes = [undefined, ...JSON_ESCAPES];
  const ranked = layouts.flatMap((layout, layoutRank) =>
    escapes.flatMap((escape, escapeRank) => {
      const rank = layoutRank + escapeRank;
      const plain = { rank, plan: { layout, escapes: escape, order: undefined } };
      // The captured layout is only white space between these tokens. It cannot be used for another key order.
      if (layout === undefined) return [plain];
      const ordered = JSON_KEY_ORDERS.map((order, orderRank) => ({
        rank: rank + KEY_ORDER_RANK + orderRank,
        plan: { layout, escapes: escape, order },
      }));
      return [plain, ...ordered];
    }),
  );
  return ranked
    .sort((one, other) => one.rank - other.rank)
    .map(({ plan }) => plan)
    .filter(({ layout, escapes }) => layout !== undefined || escapes !== undefined);
}

/** The strings in a style of escapes; undefined if they are equal to the capture or to another style. */
function createRewritten(tokens: readonly JsonToken[]) {
  const strings = tokens.filter(({ kind }) => kind === "string");
  const none: Rewritten = new Map();
  const made = new Map<JsonEscapes, Rewritten | undefined>();

  const rewrite = (escapes: JsonEscapes): Rewritten | undefined => {
    const changes = new Map<JsonToken, string>();
    for (const token of strings) {
      const quoted = escapes.quote(valueOf(token));
      if (quoted !== token.text) changes.set(token, quoted);
    }
    const isKnown = [none, ...made.values()].some((known) => known && isSame(known, changes));
    return isKnown ? undefined : changes;
  };

  return (escapes: JsonEscapes | undefined): Rewritten | undefined => {
    if (escapes === undefined) return none;
    if (!made.has(escapes)) made.set(escapes, rewrite(escapes));
    return made.get(escapes);
  };
}

function isSame(one: Rewritten, other: Rewritten): boolean {
  if (one.size !== other.size) return false;
  for (const [token, quoted] of one) if (other.get(token) !== quoted) return false;
  return true;
}

function valueOf({ text }: JsonToken): string {
  return text.includes("\\") ? String(JSON.parse(text)) : text.slice(1, -1);
}

/** The tokens in a key order; undefined if it is the captured order. */
function createReordered(tokens: readonly JsonToken[]) {
  const made = new Map<JsonKeyOrder, readonly JsonToken[] | undefined>();
  return (order: JsonKeyOrder | undefined): readonly JsonToken[] | undefined => {
    if (order === undefined) return tokens;
    if (!made.has(order)) made.set(order, orderKeys(tokens, order));
    return made.get(order);
  };
}

/** The captured text with its white space and with other strings. */
function rewriteInPlace(text: string, changes: Rewritten): string {
  let out = "";
  let end = 0;
  for (const [token, quoted] of changes) {
    out += text.slice(end, token.at) + quoted;
    end = token.at + token.text.length;
  }
  return out + text.slice(end);
}

function clueOf({ layout, escapes, order }: Plan): Clue {
  const parts = [
    layout?.how,
    escapes && `its strings ${escapes.how}`,
    order && `keys ${order.how}`,
  ];
  const how = parts.filter((part) => part !== undefined).join("; ");
  const code =
    order !== undefined
      ? "body_key_order"
      : layout !== undefined
        ? "body_reserialised"
        : "body_escapes";
  return {
    code,
    message: `The same JSON was signed in another spelling: ${how}.`,
  };
}
