/** One header line of a request. A header that is sent twice is two lines. */
export type HeaderLine = readonly [name: string, value: string];

/** Headers that belong to one connection, and those that the next connection sets itself. */
export const CONNECTION_HEADERS: readonly string[] = [
  "connection",
  "content-length",
  "host",
  "keep-alive",
  "te",
  "transfer-encoding",
  "upgrade",
];

/** One HTTP request as it is sent: header lines in order, and the exact bytes of the body. */
export interface WireRequest {
  readonly method: string;
  readonly headers: readonly HeaderLine[];
  /** Undefined for a request without a body. */
  readonly body?: Uint8Array | undefined;
  /** Sends the body in chunks, without a Content-Length. Only HTTP knows the difference. */
  readonly chunked?: boolean | undefined;
}

/** The first value of a header, in any letter case. */
export function headerOf(lines: readonly HeaderLine[], name: string): string | undefined {
  const lower = name.toLowerCase();
  return lines.find(([one]) => one.toLowerCase() === lower)?.[1];
}

/** The answer to a request. */
export interface WireAnswer {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** At most the first 64 KiB. */
  readonly body: string;
  /** True when the body was longer. The rest was not read. */
  readonly isCut?: boolean;
  /** Milliseconds from the request to the end of the answer. */
  readonly ms: number;
}

/**
 * Header lines as a record. A repeated name gets a list of values under its first spelling, also when the
 * spellings differ in letter case: as two keys, Node would take them for one header and drop the first.
 */
export function recordOf(lines: readonly HeaderLine[]): Record<string, string | string[]> {
  // A Map, since a header may have the name of a member of Object.prototype.
  const found = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of lines) {
    const lower = name.toLowerCase();
    const given = found.get(lower);
    if (given === undefined) found.set(lower, { name, values: [value] });
    else given.values.push(value);
  }
  return Object.fromEntries(
    Array.from(found.values(), ({ name, values }) => {
      const [only = "", ...more] = values;
      return [name, more.length === 0 ? only : values];
    }),
  );
}

/** A record as header lines, one line for each value. */
export function linesOf(
  headers: Readonly<Record<string, string | readonly string[]>>,
): readonly HeaderLine[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one): HeaderLine => [name, one]),
  );
}

/**
 * The outcome in an answer's JSON: `{ "outcome" }`, or the code in the gateway's error envelope, in lower
 * case. Undefined when the answer names none, as with a receiver that does not use this library.
 */
export function outcomeOf(body: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { outcome, error } = Object(parsed) as { outcome?: unknown; error?: { code?: unknown } };
  if (typeof outcome === "string") return outcome;
  const code: unknown = (Object(error) as { code?: unknown }).code;
  return typeof code === "string" ? code.toLowerCase() : undefined;
}
