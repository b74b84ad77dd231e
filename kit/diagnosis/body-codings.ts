import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { BodyReading, CapturedBody } from "./captured-body.js";
import { readChunks } from "./chunked-body.js";

/** Limit of the decompressed size in bytes: a small compressed body can expand until memory is full. */
const MAX_OUTPUT_BYTES = 16 * 1_048_576;

/** The body with an HTTP coding undone that the capture still has: compression or chunks. */
export function* bodyCodings({ bytes, contentEncoding }: CapturedBody): Generator<BodyReading> {
  const chunks = readChunks(bytes);
  if (chunks !== undefined) {
    yield {
      body: chunks,
      code: "body_chunked",
      message: "The captured body still contains the chunk sizes of Transfer-Encoding.",
    };
  }
  const decompressed = decompress(bytes, contentEncoding);
  if (decompressed !== undefined) {
    yield {
      body: decompressed,
      code: "body_compressed",
      message: "The captured body is compressed; the uncompressed body was signed.",
    };
  }
}

/** Whether the bytes begin like gzip or zlib. */
export function looksCompressed(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  const isZlib = first === 0x78 && (second === 0x01 || second === 0x9c || second === 0xda);
  return (first === 0x1f && second === 0x8b) || isZlib;
}

function decompress(bytes: Uint8Array, encoding: string | undefined): Uint8Array | undefined {
  const limit = { maxOutputLength: MAX_OUTPUT_BYTES };
  try {
    if (bytes[0] === 0x1f) return gunzipSync(bytes, limit);
    if (looksCompressed(bytes)) return inflateSync(bytes, limit);
    return encoding === "br" ? brotliDecompressSync(bytes, limit) : undefined;
  } catch {
    return undefined;
  }
}
