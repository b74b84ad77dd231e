import { createScanner } from "jsonc-parser";

/** One part of a JSON text. Between two parts there is only white space. */
export interface JsonPart {
  /** A bracket, brace, comma or colon, a string, or another scalar: a number, true, false or null. */
  readonly kind: "{" | "}" | "[" | "]" | "," | ":" | "string" | "scalar";
  /** A key, an element of a list, the value of a member or the whole text; undefined for a sign between them. */
  readonly role: "key" | "element" | "value" | undefined;
  /** As written. A number keeps its zeros and all its digits. */
  readonly text: string;
  /** Offset of the text, and the one behind it. */
  readonly start: number;
  readonly end: number;
  /** Number of objects and lists around it. A closing bracket has that of its opening one. */
  readonly depth: number;
  /** Whether it stands directly in a list. */
  readonly isInList: boolean;
  /** Number of members or elements before a key or an element. */
  readonly index: number;
}

const SIGNS: readonly string[] = ["{", "}", "[", "]", ",", ":"] satisfies JsonPart["kind"][];

/**
 * The parts of a valid JSON text; those of other text have no meaning. `JSON.parse` would round large numbers,
 * turn 1.0 into 1 and drop a repeated key. No recursion: a deeply nested body would overflow the stack.
 */
export function* jsonParts(text: string): Generator<JsonPart> {
  const scanner = createScanner(text, true);
  const open: { readonly isList: boolean; count: number }[] = [];
  let before = "";
  for (;;) {
    scanner.scan();
    const start = scanner.getTokenOffset();
    const end = start + scanner.getTokenLength();
    if (start === end) return;
    const first = text.charAt(start);
    const isSign = SIGNS.includes(first);
    const kind = isSign ? (first as JsonPart["kind"]) : first === '"' ? "string" : "scalar";
    const isOpener = kind === "{" || kind === "[";
    if (kind === "}" || kind === "]") open.pop();
    const container = open.at(-1);
    const { isList = false, count = 0 } = container ?? {};
    const begins = isOpener || !isSign;
    const isItem = begins && /^[,[{]$/.test(before);
    yield {
      kind,
      role: isItem ? (isList ? "element" : "key") : begins ? "value" : undefined,
      text: text.slice(start, end),
      start,
      end,
      depth: open.length,
      isInList: isList,
      index: count,
    };
    if (isItem && container !== undefined) container.count++;
    if (isOpener) open.push({ isList: kind === "[", count: 0 });
    before = kind;
  }
}

/** Whether `JSON.parse` accepts the text. */
export function isJson(text: string): boolean {
  return jsonOf(text) !== undefined;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The UTF-8 text with its byte order mark; undefined if the bytes are not UTF-8. */
export function textOfUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The value of a JSON text; undefined if the text is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
