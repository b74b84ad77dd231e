import { looksCompressed } from "./body-codings.js";
import { isCutJson } from "./cut-json.js";
import { textOfUtf8 } from "../json-parts.js";
import type { CapturedBody } from "./captured-body.js";
import type { Clue } from "./finding.js";

const REPLACEMENT = Uint8Array.of(0xef, 0xbf, 0xbd);

/** Signs that the signed bytes of a body are lost. Used when no reading of the body gives the signature. */
export function spoiledBody(captured: CapturedBody): readonly Clue[] {
  const { bytes, isParsed } = captured;
  const capturedBytes = bytes.length;
  // A body that parses whole is not cut: `rewrittenBody` names its length.
  const contentLength = isWholeJson(captured) ? undefined : captured.contentLength;
  const clues: Clue[] = [];
  const add = (code: Clue["code"], message: string, details: Partial<Clue> = {}): void => {
    clues.push({ ...details, code, capturedBytes, message });
  };

  if (contentLength !== undefined && contentLength > capturedBytes && capturedBytes > 0) {
    const missing = contentLength - capturedBytes;
    const message = `The body is ${missing} bytes shorter than the ${contentLength} that Content-Length declares.`;
    add("body_truncated", message, { expectedBytes: contentLength });
  } else if (!isParsed && captured.json === undefined && isCutJson(bytes)) {
    add("body_truncated", "The body is JSON that ends in the middle.");
  }
  if (contentLength !== undefined && contentLength < capturedBytes) {
    const more = capturedBytes - contentLength;
    const message = `The body is ${more} bytes longer than the ${contentLength} that Content-Length declares.`;
    add("body_extra_bytes", message, { expectedBytes: contentLength });
  }
  if (capturedBytes === 0) add("body_empty", "The body is empty.");
  else if (isParsed) add("body_parsed", "The body is the result of a parser, not bytes or text.");
  const text = capturedBytes < 64 ? textOfUtf8(bytes)?.trim() : undefined;
  if (text === "{}" && !isParsed) {
    add("body_empty", "The body is {}, which body parsers leave when they read nothing.");
  }
  if (text !== undefined && /^\[object \w+\]$/.test(text)) {
    add("body_object_text", "The body is an object converted to text, such as [object Object].");
  }
  const { count, first } = countOf(bytes, REPLACEMENT);
  if (count > 0) {
    const message = `The body has ${count} replacement characters (U+FFFD), the first at byte ${first}: unless the sender wrote them, they replaced bytes that were not UTF-8.`;
    add("body_replacement_characters", message, { offsetBytes: first });
  }
  const coding = codingClue(captured);
  if (coding !== undefined) add("body_compressed", coding);
  return clues;
}

/** The sign that something wrote other text into a body: it parses whole, but its length is not that of the request. */
export function rewrittenBody(captured: CapturedBody): readonly Clue[] {
  const { bytes, contentLength, contentEncoding = "identity", isParsed } = captured;
  const capturedBytes = bytes.length;
  if (contentLength === undefined || contentLength === capturedBytes) return [];
  // A parsed or decompressed body has another length anyway, and has its own finding.
  if (!isWholeJson(captured) || isParsed || contentEncoding !== "identity") return [];
  const by = `${Math.abs(contentLength - capturedBytes)} bytes ${contentLength > capturedBytes ? "shorter" : "longer"}`;
  const message = `The body is whole JSON, but ${by} than the ${contentLength} that Content-Length declares: it was rewritten after it was signed.`;
  return [{ code: "body_rewritten", message, capturedBytes, expectedBytes: contentLength }];
}

/** Not {} and [], which are left when a body is lost. */
function isWholeJson({ json }: CapturedBody): boolean {
  return typeof json === "object" && json !== null && Object.keys(json).length > 0;
}

function codingClue({ bytes, contentEncoding, json }: CapturedBody): string | undefined {
  if (looksCompressed(bytes))
    return "The body is compressed, and either cannot be read or is not what was signed.";
  const isDeclared = contentEncoding !== undefined && contentEncoding !== "identity";
  if (!isDeclared || json === undefined) return undefined;
  return "Content-Encoding names a compression, but the body is not compressed: something decompressed it.";
}

function countOf(bytes: Uint8Array, wanted: Uint8Array): { count: number; first: number } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const first = buffer.indexOf(wanted);
  let count = 0;
  for (let at = first; at !== -1; at = buffer.indexOf(wanted, at + wanted.length)) count++;
  return { count, first };
}
