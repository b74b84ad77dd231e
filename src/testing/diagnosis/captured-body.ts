import { types } from "node:util";
import type { HeaderLine } from "../sending/wire.js";
import type { FindingCode } from "./finding-codes.js";

/** The body of a capture, and what a search needs to know of it. */
export interface CapturedBody {
  readonly bytes: Uint8Array;
  /** Undefined where the bytes are no UTF-8. A byte order mark stays in it. */
  readonly text: string | undefined;
  /** Undefined where the text is no JSON. */
  readonly json: unknown;
  /** It was given as the object that a parser made, and written anew. */
  readonly isParsed: boolean;
  /** Of the header of that name; undefined where it is none or no number. */
  readonly contentLength: number | undefined;
  /** In lower case. */
  readonly contentEncoding: string | undefined;
}

/** Another body that may be what was signed, and what is assumed with it. */
export interface BodyReading {
  readonly body: Uint8Array;
  readonly code: FindingCode;
  readonly message: string;
}

const EMPTY = new Uint8Array(0);
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of UTF-8, with its byte order mark; undefined where it is none. */
export function textOfUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Reads whatever was given as the body of a capture. Never throws. */
export function readCapturedBody(body: unknown, lines: readonly HeaderLine[]): CapturedBody {
  const raw = rawBytesOf(body);
  const bytes = raw ?? bytesOfParsed(body);
  const text = textOfUtf8(bytes);
  return {
    bytes,
    text,
    json: text === undefined ? undefined : jsonOf(text),
    isParsed: raw === undefined,
    contentLength: numberOf(valueOf(lines, "content-length")),
    contentEncoding: valueOf(lines, "content-encoding")?.trim().toLowerCase(),
  };
}

/** The bytes of what holds bytes; undefined for what a parser made of them. */
function rawBytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined || body === null) return EMPTY;
  if (typeof body === "string") return Buffer.from(body, "utf8");
  // Not by `instanceof`, which asks a Proxy for its prototype, and a Proxy may throw.
  return ArrayBuffer.isView(body) || types.isAnyArrayBuffer(body) ? copyOf(body) : undefined;
}

/**
 * A copy, since the search pauses, and the buffer may be transferred meanwhile. Of one that was
 * transferred before, nothing is left.
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
    // Undefined for a function or a symbol, whatever its type says.
    const text = JSON.stringify(body) as string | undefined;
    return Buffer.from(text ?? "", "utf8");
  } catch {
    return EMPTY;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, "")) as unknown;
  } catch {
    return undefined;
  }
}

function valueOf(lines: readonly HeaderLine[], wanted: string): string | undefined {
  return lines.find(([name]) => name.toLowerCase() === wanted)?.[1];
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*[0-9]{1,12}\s*$/.test(text) ? Number(text) : undefined;
}
