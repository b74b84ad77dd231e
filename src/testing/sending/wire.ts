/** One line of a request's head; a header given twice is two lines. */
export type HeaderLine = readonly [name: string, value: string];

/** One HTTP request, down to its lines and bytes. */
export interface WireRequest {
  readonly method: string;
  readonly headers: readonly HeaderLine[];
  /** Undefined: a request without a body. */
  readonly body?: Uint8Array | undefined;
  /** Sent in chunks, without a Content-Length, where the transport knows the difference. */
  readonly chunked?: boolean | undefined;
}

/** What the sender of a request is answered. */
export interface WireAnswer {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** At most 64 KiB of it. */
  readonly body: string;
  /** True where the body goes on: the rest was not read. */
  readonly isCut?: boolean;
  /** Milliseconds from the request to the end of the answer. */
  readonly ms: number;
}

/**
 * Header lines as a record: a name given twice has a list, be it in two letter cases, of which the first
 * stays. Two spellings as two keys would be one header to Node, which drops the first of them.
 */
export function recordOf(lines: readonly HeaderLine[]): Record<string, string | string[]> {
  // A Map first: a header may be named like a member of Object.prototype.
  const found = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of lines) {
    const lower = name.toLowerCase();
    const given = found.get(lower);
    if (given === undefined) found.set(lower, { name, values: [value] });
    else given.values.push(value);
  }
  return Object.fromEntries(
    Array.from(found.values(), ({ name, values }) => [name, onlyOf(values) ?? values]),
  );
}

function onlyOf(values: readonly string[]): string | undefined {
  return values.length === 1 ? values[0] : undefined;
}

/** A record as header lines: a list is one line for each of its values. */
export function linesOf(
  headers: Readonly<Record<string, string | readonly string[]>>,
): readonly HeaderLine[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one): HeaderLine => [name, one]),
  );
}

/**
 * The outcome that an answer's JSON names: `{ "outcome" }`, or the gateway's error envelope. Undefined
 * for a receiver of another make.
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
