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
const MAX_LINES = 1_000;

/**
 * The header lines of whatever a partner captured: `Headers`, a `Map`, a record in any letter case with
 * texts, numbers or lists, pairs, `{ name, value }` entries, or Node's `rawHeaders`. What is none of
 * these, or throws when it is read, has no lines.
 */
export function headerLinesOf(headers: unknown): readonly HeaderLine[] {
  try {
    return [...takeLines(headers)];
  } catch {
    return [];
  }
}

function* takeLines(headers: unknown): Generator<HeaderLine> {
  let left = MAX_LINES;
  for (const [name, value] of entriesOf(headers)) {
    if (left-- === 0) return;
    if (typeof name !== "string") continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const one of values) {
      const text = textOf(one);
      if (text === undefined) continue;
      yield [name, text];
      if (left-- === 0) return;
    }
  }
}

/** Numbers too: a capture in JSON may hold the timestamp as one. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : undefined;
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
  let left = 2 * MAX_LINES;
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
