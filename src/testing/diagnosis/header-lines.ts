import type { HeaderLine } from "../sending/wire.js";

/** What a `get` alone is asked for: it cannot be listed. */
const ASKED = [
  "x-webhook-id",
  "x-webhook-timestamp",
  "x-webhook-type",
  "x-webhook-signature",
  "content-length",
  "content-encoding",
];
/** Far more than any server takes; a capture of another kind is not read to its end. */
export const MAX_HEADER_LINES = 1_000;

/** A header as it was given: a number may stand in a record where a receiver takes text alone. */
export type GivenLine = readonly [name: string, value: string | number];

/**
 * The header lines of whatever a partner captured: `Headers`, a `Map`, a record in any letter case with
 * texts, numbers or lists, pairs, `{ name, value }` entries, or Node's `rawHeaders`. What is none of
 * these, or throws when it is read, has no lines.
 */
export function givenLinesOf(headers: unknown): readonly GivenLine[] {
  try {
    return [...takeLines(headers)];
  } catch {
    return [];
  }
}

/** The same with every value as the text that it was on its way: JSON may hold the timestamp as a number. */
export function headerLinesOf(headers: unknown): readonly HeaderLine[] {
  return textLines(givenLinesOf(headers));
}

/** The same lines with every value as text. */
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
    // An iterator need not end.
    if (left-- === 0) return;
    if (Array.isArray(item)) {
      yield [item[0], item[1]];
    } else if (typeof item === "object" && item !== null) {
      const { name, value } = item as { name?: unknown; value?: unknown };
      yield [name, value];
    } else if (typeof item === "string") {
      // rawHeaders: name and value in turn.
      if (name === undefined) name = item;
      else {
        yield [name, item];
        name = undefined;
      }
    }
  }
}
