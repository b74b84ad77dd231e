import { jsonOf, jsonParts } from "../json-parts.js";
import { DOCUMENTED_FIELDS } from "../recorder/documented-fields.js";
import type { Clue } from "./finding.js";
import type { SearchBudget } from "./search-budget.js";

/** Another spelling of the same JSON, with the clue that it assumes. */
export interface JsonSpelling extends Clue {
  readonly text: string;
}

/** The names of layouts, escapes and the order continue "The same JSON was signed in another spelling: …". */
const LAYOUTS: Readonly<Record<string, (value: unknown) => string>> = {
  "without spaces": (value) => JSON.stringify(value),
  "with spaces after , and :": (value) =>
    JSON.stringify(value, null, 1).replace(/,\n */g, ", ").replace(/\n */g, ""),
  "indented by 2": (value) => JSON.stringify(value, null, 2),
  "indented by 4": (value) => JSON.stringify(value, null, 4),
  "indented by tabs": (value) => JSON.stringify(value, null, "\t"),
};

const units = (text: string, found: RegExp): string =>
  text.replace(found, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
const ascii = (text: string): string => units(text, /[\u007f-\uffff]/g);
/** How a program writes strings, from what JSON.stringify writes, which escapes only what JSON requires. */
const ESCAPES: Readonly<Record<string, (text: string) => string>> = {
  "its strings not escaped, as JavaScript, Ruby and Java write them": (text) => text,
  "its strings escaped to ASCII, as Python's json.dumps does": ascii,
  "its strings with \\/ and in ASCII, as PHP's json_encode does": (text) =>
    ascii(text).replaceAll("/", "\\/"),
  "its strings with <, > and & escaped, as Go and Rails do": (text) =>
    units(text, /[<>&\u2028\u2029]/g),
  "its strings with \\/, as PHP with JSON_UNESCAPED_UNICODE does": (text) =>
    units(text, /[\u2028\u2029]/g).replaceAll("/", "\\/"),
};

const ORDER = "its keys in the order of the gateway's document";

/** Writing one byte takes about as long as hashing this many. */
const WRITING_COST = 16;
/** No record is nested so deep, and indents grow with the depth. */
const MAX_DEPTH = 24;
/** Marks a text that is written as it stands in the capture: a number, since a parser rounds, or a string. */
const MARK = "\u0001";
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*/g;
const MARKED = /"\\u0001(?:([^"\\]*)|((?:[^"\\]|\\.)*))"/g;

/**
 * The spellings that common programs give a JSON text, likely ones first, until the budget is used up. Numbers stay as
 * written: digits that a parser rounded away are lost.
 */
export function* jsonSpellings(text: string, budget: SearchBudget): Generator<JsonSpelling> {
  const cost = WRITING_COST * text.length;
  if (!budget.spend(cost) || jsonOf(text) === undefined) return;
  for (const { depth } of jsonParts(text)) if (depth > MAX_DEPTH) return;
  const marked = text.replace(TOKEN, (token: string, key?: string, colon?: string) =>
    colon ? JSON.stringify(MARK + String(key)) + colon : JSON.stringify(MARK + token),
  );
  const value = jsonOf(marked);
  const seen = new Set([text]);
  const layouts = Object.entries(LAYOUTS);
  for (const order of [undefined, ORDER]) {
    const ordered = order === undefined ? value : inOrder(value);
    for (const [escapes, escape] of [[], ...Object.entries(ESCAPES)]) {
      for (const [layout, write] of layouts) {
        if (!budget.spend(cost)) return;
        const spelled = written(write(ordered), escape);
        if (seen.has(spelled)) continue;
        seen.add(spelled);
        const code = order === undefined ? "body_reserialised" : "body_key_order";
        const how = [layout, escapes, order].filter((part) => part !== undefined).join("; ");
        const message = `The same JSON was signed in another spelling: ${how}`;
        yield { text: spelled, code, message: `${message}.` };
        // Go's encoder, println and echo end their output with a newline.
        const more = ", and with a newline at its end.";
        yield { text: `${spelled}\n`, code, message: message + more };
      }
    }
  }
}

/** The text with its tokens as they stand in the capture, or with the strings that a program writes. */
function written(text: string, escape?: (text: string) => string): string {
  return text.replace(MARKED, (_, number?: string, marked?: string) => {
    if (number !== undefined) return number;
    const string = JSON.parse(`"${marked}"`) as string;
    return escape === undefined ? string : escape(JSON.stringify(JSON.parse(string)));
  });
}

/** The body with the fields of its record in the order of the document, and those that it does not list behind them. */
function inOrder(body: unknown): unknown {
  const members = Object.entries(Object(body) as object).map(
    ([name, record]: [string, unknown]) => {
      if (typeof record !== "object" || record === null) return [name, record];
      const { alarm, event } = DOCUMENTED_FIELDS;
      const fields = Object.keys(name === `${MARK}"event"` ? event : alarm);
      const given = new Map(Object.entries(record));
      const known = fields.map((key) => `${MARK}"${key}"`).filter((key) => given.has(key));
      return [name, Object.assign(Object.fromEntries(known.map((key) => [key, 0])), record)];
    },
  );
  return Object.fromEntries(members);
}
