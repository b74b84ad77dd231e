import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { CapturedBody } from "./captured-body.js";
import type { Changes } from "./changes.js";
import { readChunks } from "./chunked-body.js";

/** Limit of the decompressed size in bytes: a small compressed body can expand until memory is full. */
const MAX_OUTPUT_BYTES = 16 * 1_048_576;

/** An HTTP coding that the capture still has: compression or chunks. */
export const BODY_CODINGS: Changes<CapturedBody> = {
  body_chunked: {
    "The captured body still contains the chunk sizes of Transfer-Encoding.": ({ bytes }) =>
      readChunks(bytes),
  },
  body_compressed: {
    "The captured body is compressed; the uncompressed body was signed.": decompress,
  },
};

/** Whether the bytes begin like gzip or zlib. */
export function looksCompressed(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  const isZlib = first === 0x78 && (second === 0x01 || second === 0x9c || second === 0xda);
  return (first === 0x1f && second === 0x8b) || isZlib;
}

function decompress({ bytes, contentEncoding }: CapturedBody): Uint8Array | undefined {
  const limit = { maxOutputLength: MAX_OUTPUT_BYTES };
  try {
    if (bytes[0] === 0x1f) return gunzipSync(bytes, limit);
    if (looksCompressed(bytes)) return inflateSync(bytes, limit);
    return contentEncoding === "br" ? brotliDecompressSync(bytes, limit) : undefined;
  } catch {
    return undefined;
  }
}
