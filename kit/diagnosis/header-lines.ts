import type { HeaderLine } from "../sending/wire.js";

/** The headers to read from an object that has `get` but cannot be iterated. */
const ASKED = [
  "x-webhook-id",
  "x-webhook-timestamp",
  "x-webhook-type",
  "x-webhook-signature",
  "content-length",
  "content-encoding",
];
/** Far more lines than any server accepts. Bounds the work on input that is not a request. */
export const MAX_HEADER_LINES = 1_000;

/** A header as given. Its value may be a number, which a receiver would not accept. */
export type GivenLine = readonly [name: string, value: string | number];

/**
 * The header lines of any captured form: `Headers`, a `Map`, a record in any letter case with strings,
 * numbers or lists, pairs, `{ name, value }` or `{ key, value }` entries, or Node's `rawHeaders`. Another value, or one that
 * throws while it is read, has no lines.
 */
export function givenLinesOf(headers: unknown): readonly GivenLine[] {
  try {
    return [...takeLines(headers)];
  } catch {
    return [];
  }
}

/** The header lines with every value as text. In JSON the timestamp may be a number. */
export function headerLinesOf(headers: unknown): readonly HeaderLine[] {
  return textLines(givenLinesOf(headers));
}

/** The lines with every value as text. */
export function textLines(lines: readonly GivenLine[]): readonly HeaderLine[] {
  return lines.map(([name, value]) => [name, String(value)]);
}

function* takeLines(headers: unknown): Generator<GivenLine> {
  let left = MAX_HEADER_LINES;
  for (const [name, value] of entriesOf(headers)) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const one of values) {
      if (left-- === 0) return;
      if (typeof name !== "string") continue;
      if (typeof one === "string" || typeof one === "number") yield [name, one];
    }
  }
}

type Entry = readonly [name: unknown, value: unknown];

function entriesOf(headers: unknown): Iterable<Entry> {
  if (typeof headers !== "object" || headers === null) return [];
  if (Array.isArray(headers)) return entriesOfList(headers);
  if (Symbol.iterator in headers) return entriesOfList(headers as Iterable<unknown>);
  const { get } = headers as { get?: unknown };
  if (typeof get === "function") return ASKED.map((name) => [name, get.call(headers, name)]);
  return Object.entries(headers);
}

function* entriesOfList(list: Iterable<unknown>): Generator<Entry> {
  let name: string | undefined;
  let left = 2 * MAX_HEADER_LINES;
  for (const item of list) {
    // An iterator may be endless.
    if (left-- === 0) return;
    if (Array.isArray(item)) {
      yield [item[0], item[1]];
    } else if (typeof item === "object" && item !== null) {
      const { key, name = key, value } = item as Readonly<Record<string, unknown>>;
      yield [name, value];
    } else if (typeof item === "string") {
      // rawHeaders alternates names and values.
      if (name === undefined) name = item;
      else {
        yield [name, item];
        name = undefined;
      }
    }
  }
}
