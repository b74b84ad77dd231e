import { types } from "node:util";
import { jsonOf, textOfUtf8 } from "../json-parts.js";
import type { HeaderLine } from "../sending/wire.js";

/** The body of a capture, with the facts that a search needs. */
export interface CapturedBody {
  readonly bytes: Uint8Array;
  /** Undefined if the bytes are not UTF-8. Keeps a byte order mark. */
  readonly text: string | undefined;
  /** Undefined if the text is not JSON. */
  readonly json: unknown;
  /** Whether it was given as a parsed object, which was serialized again. */
  readonly isParsed: boolean;
  /** Value of that header; undefined if it is absent or not a number. */
  readonly contentLength: number | undefined;
  /** Value of that header in lower case. */
  readonly contentEncoding: string | undefined;
}

const EMPTY = new Uint8Array(0);

/** Reads any value that was given as the body of a capture. Never throws. */
export function readCapturedBody(body: unknown, lines: readonly HeaderLine[]): CapturedBody {
  const raw = rawBytesOf(body);
  const bytes = raw ?? bytesOfParsed(body);
  const text = textOfUtf8(bytes);
  return {
    bytes,
    text,
    json: text === undefined ? undefined : jsonOf(text.replace(/^\uFEFF/, "")),
    isParsed: raw === undefined,
    contentLength: numberOf(valueOf(lines, "content-length")),
    contentEncoding: valueOf(lines, "content-encoding")?.trim().toLowerCase(),
  };
}

/** The bytes of a value that holds bytes; undefined for the result of a parser. */
function rawBytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined || body === null) return EMPTY;
  if (typeof body === "string") return Buffer.from(body, "utf8");
  // Not `instanceof`: it reads the prototype, and a Proxy may throw there.
  return ArrayBuffer.isView(body) || types.isAnyArrayBuffer(body) ? copyOf(body) : undefined;
}

/**
 * A copy, because the search pauses and the buffer may be transferred in the meantime. A buffer that is
 * already transferred is empty.
 */
function copyOf(given: ArrayBufferView | ArrayBufferLike): Uint8Array {
  try {
    const bytes = ArrayBuffer.isView(given)
      ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength)
      : new Uint8Array(given);
    return new Uint8Array(bytes);
  } catch {
    return EMPTY;
  }
}

function bytesOfParsed(body: unknown): Uint8Array {
  try {
    // JSON.stringify returns undefined for a function or a symbol, although its type says string.
    const text = JSON.stringify(body) as string | undefined;
    return Buffer.from(text ?? "", "utf8");
  } catch {
    return EMPTY;
  }
}

function valueOf(lines: readonly HeaderLine[], wanted: string): string | undefined {
  return lines.find(([name]) => name.toLowerCase() === wanted)?.[1];
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*[0-9]{1,12}\s*$/.test(text) ? Number(text) : undefined;
}
