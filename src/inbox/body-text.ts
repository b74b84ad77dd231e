/** A body in a form that every JSON column holds without loss. */
export interface BodyText {
  /** How `body` was made of the bytes. */
  readonly encoding: "utf-8" | "base64";
  readonly body: string;
}

// Strict, and with the BOM kept: the text has to give the very bytes back.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** How many bytes become one string at a time: as arguments, all of a body would overflow the stack. */
const CHUNK_BYTES = 8_192;

/** Readable text where the bytes are UTF-8, base64 otherwise. */
export function textOfBody(bytes: Uint8Array): BodyText {
  try {
    const body = decoder.decode(bytes);
    // PostgreSQL's jsonb refuses U+0000.
    if (!body.includes("\0")) return { encoding: "utf-8", body };
  } catch {
    // Not UTF-8.
  }
  return { encoding: "base64", body: toBase64(bytes) };
}

/** The bytes of a body. Throws where `body` is not in its encoding. */
export function bodyOfText({ encoding, body }: BodyText): Uint8Array {
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
