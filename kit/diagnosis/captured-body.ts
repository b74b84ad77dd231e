import { types } from "node:util";
import { jsonOf, textOfUtf8 } from "../json-parts.js";
import type { GivenLine } from "./header-lines.js";

/** The body of a capture, with the facts that a search needs. */
export type CapturedBody = Readonly<ReturnType<typeof readCapturedBody>>;

/** Reads any value that was given as the body of a capture. One that cannot be read is empty. */
export function readCapturedBody(body: unknown, lines: readonly GivenLine[]) {
  const given = body ?? "";
  // Not `instanceof`: it reads the prototype, and a Proxy may throw there.
  const isBytes = ArrayBuffer.isView(given) || types.isAnyArrayBuffer(given);
  const bytes = bytesOf(given);
  const text = textOfUtf8(bytes);
  const headers = new Map(lines.map(([name, value]) => [name.toLowerCase(), String(value).trim()]));
  const length = headers.get("content-length") ?? "";
  return {
    bytes,
    /** Undefined if the bytes are not UTF-8. Keeps a byte order mark. */
    text,
    /** Undefined if the text is not JSON. */
    json: text === undefined ? undefined : jsonOf(text.replace(/^\uFEFF/, "")),
    /** Whether it was given as a parsed object, which was serialized again. */
    isParsed: !isBytes && typeof given !== "string",
    /** Value of that header; undefined if it is absent or not a number. */
    contentLength: /^[0-9]{1,12}$/.test(length) ? Number(length) : undefined,
    /** Value of that header in lower case. */
    contentEncoding: headers.get("content-encoding")?.toLowerCase(),
  };
}

/** A copy, because the search pauses and the buffer may be transferred in the meantime. */
function bytesOf(given: unknown): Uint8Array {
  try {
    if (ArrayBuffer.isView(given)) {
      return Uint8Array.from(new Uint8Array(given.buffer, given.byteOffset, given.byteLength));
    }
    if (types.isAnyArrayBuffer(given)) return Uint8Array.from(new Uint8Array(given));
    // JSON.stringify returns undefined for a function or a symbol, although its type says string.
    const text = typeof given === "string" ? given : (JSON.stringify(given) as string | undefined);
    return Buffer.from(text ?? "", "utf8");
  } catch {
    return new Uint8Array(0);
  }
}
