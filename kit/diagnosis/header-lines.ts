import { HEADER_ROWS } from "../../src/delivery/header-values.js";

/** The headers to read from an object that has `get` but cannot be iterated. */
const ASKED = [...HEADER_ROWS.map(([, { name }]) => name), "content-length", "content-encoding"];
/** Far more lines than any server accepts. Bounds the work on input that is not a request. */
export const MAX_HEADER_LINES = 1_000;

/** A header as given. Its value may be a number, which a receiver would not accept. */
export type GivenLine = readonly [name: string, value: string | number];

type Entry = readonly [name: unknown, value: unknown];

/**
 * The header lines of any captured form: `Headers`, a `Map`, a record in any letter case with strings,
 * numbers or lists, pairs, `{ name, value }` or `{ key, value }` entries, or Node's `rawHeaders`. Another value, or one that
 * throws while it is read, has no lines.
 */
export function givenLinesOf(headers: unknown): readonly GivenLine[] {
  try {
    return entriesOf(headers)
      .flatMap(([name, value]) => [value].flat().map((one): Entry => [name, one]))
      .slice(0, MAX_HEADER_LINES)
      .filter((entry): entry is GivenLine => {
        const [name, value] = entry;
        return typeof name === "string" && ["string", "number"].includes(typeof value);
      });
  } catch {
    return [];
  }
}

function entriesOf(headers: unknown): readonly Entry[] {
  if (typeof headers !== "object" || headers === null) return [];
  if (Symbol.iterator in headers) return entriesOfList(headers as Iterable<unknown>);
  const { get } = headers as { get?: unknown };
  if (typeof get === "function") return ASKED.map((name) => [name, get.call(headers, name)]);
  return Object.entries(headers);
}

function entriesOfList(list: Iterable<unknown>): readonly Entry[] {
  const entries: Entry[] = [];
  // rawHeaders alternates names and values.
  const texts: string[] = [];
  // An iterator may be endless.
  let left = 2 * MAX_HEADER_LINES;
  for (const item of list) {
    if (left-- === 0) break;
    if (Array.isArray(item)) entries.push([item[0], item[1]]);
    else if (typeof item === "string") texts.push(item);
    else {
      const { key, name = key, value } = Object(item) as Readonly<Record<string, unknown>>;
      entries.push([name, value]);
    }
  }
  texts.forEach((name, at) => at % 2 === 0 && entries.push([name, texts[at + 1]]));
  return entries;
}
