/** A body as text that every JSON column stores without loss. */
export interface EncodedBody {
  /** How `body` was made from the bytes. */
  readonly encoding: "utf-8" | "base64";
  readonly body: string;
}

// Strict, and it keeps a byte order mark: decoding must return exactly the bytes that were signed.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Bytes per call of `String.fromCharCode`. A whole body as arguments would overflow the stack. */
const CHUNK_BYTES = 8_192;

/** Encodes bytes as readable text if they are UTF-8 and no longer so than as base64; otherwise as base64. */
export function encodeBody(bytes: Uint8Array): EncodedBody {
  try {
    const body = decoder.decode(bytes);
    const escapes = JSON.stringify(body).length - body.length - 2;
    // PostgreSQL's jsonb refuses U+0000.
    if (!body.includes("\0") && escapes <= bytes.length / 3) return { encoding: "utf-8", body };
  } catch {
    // Not UTF-8.
  }
  return { encoding: "base64", body: toBase64(bytes) };
}

/** Returns the bytes of an encoded body. Throws if `body` does not match its encoding. */
export function decodeBody({ encoding, body }: EncodedBody): Uint8Array {
  if (encoding === "utf-8") return encoder.encode(body);
  return Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK_BYTES));
  }
  return btoa(binary);
}
