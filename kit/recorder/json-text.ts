/** A token of JSON text, at `start` to `end`. Between two tokens there is only white space. */
export interface JsonToken {
  /** A bracket, brace, comma or colon; a string; or a literal: a number, true, false or null. */
  readonly kind: "{" | "}" | "[" | "]" | "," | ":" | "string" | "literal";
  readonly start: number;
  readonly end: number;
}

/** Reads JSON text token by token. */
export interface JsonReader {
  /** The next token; undefined at the end. */
  readonly next: () => JsonToken | undefined;
  /** Skips the rest of a value that begins with `first`, at any depth. Returns the offset after it. */
  readonly skipRest: (first: JsonToken | undefined) => number;
}

const WHITE_SPACE = " \t\n\r";
const PUNCTUATION = "{}[],:";

/**
 * Reads valid JSON; for other text the tokens have no meaning. A loop and not a recursion: a deeply nested body
 * would overflow the stack.
 */
export function createJsonReader(text: string): JsonReader {
  let at = 0;

  const next = (): JsonToken | undefined => {
    while (at < text.length && WHITE_SPACE.includes(text.charAt(at))) at += 1;
    if (at >= text.length) return undefined;
    const start = at;
    const first = text.charAt(at);
    if (PUNCTUATION.includes(first)) {
      at += 1;
      return { kind: first as JsonToken["kind"], start, end: at };
    }
    if (first === '"') {
      at = endOfString(text, start);
      return { kind: "string", start, end: at };
    }
    at += 1;
    while (at < text.length && !isEndOfLiteral(text.charAt(at))) at += 1;
    return { kind: "literal", start, end: at };
  };

  const skipRest = (first: JsonToken | undefined): number => {
    let depth = 0;
    for (let token = first; token !== undefined; token = next()) {
      if (token.kind === "{" || token.kind === "[") depth += 1;
      if (token.kind === "}" || token.kind === "]") depth -= 1;
      if (depth <= 0) break;
    }
    return at;
  };

  return { next, skipRest };
}

function isEndOfLiteral(character: string): boolean {
  return WHITE_SPACE.includes(character) || PUNCTUATION.includes(character) || character === '"';
}

/** The offset after the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === "\\" ? 2 : 1;
  return Math.min(at + 1, text.length);
}

/** Writes `text` as a JSON string in the style of `raw`, another JSON string: PHP escapes `/` and non-ASCII. */
export function encodeLike(raw: string, text: string): string {
  const json = JSON.stringify(text);
  const slashed = raw.includes("\\/") ? json.replaceAll("/", "\\/") : json;
  // Escapes below U+0080 do not show the style: JSON requires them for control characters.
  return /\\u(?!00[0-7])/.test(raw) ? slashed.replace(/[^\0-\x7f]/g, escapeOf) : slashed;
}

/** The `\u` escape of one UTF-16 unit. */
export function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Whether `JSON.parse` accepts the text. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
