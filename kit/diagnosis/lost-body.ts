import { parse, printParseErrorCode, type ParseError } from "jsonc-parser";
import { textOfUtf8 } from "../json-parts.js";
import { looksCompressed } from "./body-changes.js";
import type { CapturedBody } from "./captured-body.js";
import type { Clue, SignatureFinding } from "./finding.js";
import { SIGNATURE_FINDINGS } from "./finding-codes.js";
import type { HeaderReadings } from "./header-readings.js";
import type { SearchCounts } from "./signature-search.js";

const REPLACEMENT = Uint8Array.of(0xef, 0xbf, 0xbd);

/** Signs that the signed bytes of a body are lost. Used when no reading of the body gives the signature. */
export function lostBody(captured: CapturedBody): readonly Clue[] {
  const { bytes, isParsed, contentEncoding = "identity" } = captured;
  const capturedBytes = bytes.length;
  // A body that parses whole is not cut: `rewrittenBody` names its length.
  const contentLength = isWholeJson(captured) ? undefined : captured.contentLength;
  const clues: Clue[] = [];
  const add = (code: Clue["code"], message: string, details: Partial<Clue> = {}): void => {
    clues.push({ ...details, code, capturedBytes, message });
  };

  if (contentLength !== undefined && contentLength !== capturedBytes && capturedBytes > 0) {
    const code = contentLength > capturedBytes ? "body_truncated" : "body_extra_bytes";
    const message = `The body is ${comparedWith(contentLength, capturedBytes)}.`;
    add(code, message, { expectedBytes: contentLength });
  } else if (!isParsed && captured.json === undefined && isCutJson(bytes)) {
    add("body_truncated", "The body is JSON that ends in the middle.");
  }
  const text = capturedBytes < 64 ? textOfUtf8(bytes)?.trim() : undefined;
  if (capturedBytes === 0) add("body_empty", "The body is empty.");
  else if (isParsed) add("body_parsed", "The body is the result of a parser, not bytes or text.");
  else if (text === "{}") {
    add("body_empty", "The body is {}, which body parsers leave when they read nothing.");
  } else if (text !== undefined && /^\[object \w+\]$/.test(text)) {
    add("body_object_text", "The body is an object converted to text, such as [object Object].");
  }
  const offsetBytes = Buffer.from(bytes).indexOf(REPLACEMENT);
  if (offsetBytes !== -1) {
    const message = `The body has replacement characters (U+FFFD), the first at byte ${offsetBytes}: unless the sender wrote them, they replaced bytes that were not UTF-8.`;
    add("body_replacement_characters", message, { offsetBytes });
  }
  const isDecompressed = contentEncoding !== "identity" && captured.json !== undefined;
  if (looksCompressed(bytes) || isDecompressed) {
    const message = isDecompressed
      ? "Content-Encoding names a compression, but the body is not compressed: something decompressed it."
      : "The body is compressed, and either cannot be read or is not what was signed.";
    add("body_compressed", message);
  }
  return clues;
}

/** The sign that something wrote other text into a body: it parses whole, but its length is not that of the request. */
export function rewrittenBody(captured: CapturedBody): readonly Clue[] {
  const { bytes, contentLength, contentEncoding = "identity", isParsed } = captured;
  const capturedBytes = bytes.length;
  if (contentLength === undefined || contentLength === capturedBytes) return [];
  // A parsed or decompressed body has another length anyway, and has its own finding.
  if (!isWholeJson(captured) || isParsed || contentEncoding !== "identity") return [];
  const message = `The body is whole JSON, but ${comparedWith(contentLength, capturedBytes)}: it was rewritten after it was signed.`;
  return [{ code: "body_rewritten", message, capturedBytes, expectedBytes: contentLength }];
}

function comparedWith(contentLength: number, bytes: number): string {
  const way = bytes < contentLength ? "shorter" : "longer";
  return `${Math.abs(contentLength - bytes)} bytes ${way} than the ${contentLength} that Content-Length declares`;
}

/** Not {} and [], which are left when a body is lost. */
function isWholeJson({ json }: CapturedBody): boolean {
  return typeof json === "object" && json !== null && Object.keys(json).length > 0;
}

/** What logs and tools write where they stop. */
const CUT_MARK =
  /(?:(?:\.{3}|…)[^"{}]{0,40}|[[(<][^\])>]{0,40}(?:truncated|omitted|more)[^\])>]{0,40}[\])>])\s*$/i;
/** A literal or a number that is cut in two, behind what comes before a value. */
const LITERAL = /([:,[]\s*)(?:tr?u?|fa?l?s?|nu?l?|[0-9.e+-]+)$/i;
/** Only the end is searched: a search of the whole text is quadratic in a long run of letters. */
const MAX_END = 128;

/** Whether the bytes are JSON that ends too early: with a few more characters it would be complete. */
export function isCutJson(bytes: Uint8Array): boolean {
  // A character that is cut in two becomes one that no JSON needs to have at its end.
  const text = Buffer.from(bytes)
    .toString("utf8")
    .replace(/\uFFFD$/, "");
  const [start, end] = [text.slice(0, -MAX_END), text.slice(-MAX_END)];
  return [end, end.replace(CUT_MARK, "")].some((one) => isCut(start + one.replace(LITERAL, "$1")));
}

/** Whether the only faults of the text are at its end. */
function isCut(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  const errors = faultsOf(text);
  const isAtEnd = ({ error, offset, length }: ParseError): boolean =>
    offset >= text.length ||
    (offset + length >= text.length && printParseErrorCode(error) === "UnexpectedEndOfString");
  return errors.length > 0 && errors.every(isAtEnd);
}

function faultsOf(text: string): readonly ParseError[] {
  const errors: ParseError[] = [];
  try {
    parse(text, errors, { disallowComments: true });
    return errors;
  } catch {
    // Nested deeper than the stack.
    return [];
  }
}

/** The finding when there is a signature and nothing explains it. */
export function unexplained(
  { id, timestamp, signature }: HeaderReadings,
  { bytes, text = "", contentLength }: CapturedBody,
  { signatures, keys, prefixes, bodies, isComplete }: SearchCounts,
): readonly SignatureFinding[] {
  // A header without a signature has its own finding.
  const isMissing = [id, timestamp, signature].some((readings) => readings.length === 0);
  if (isMissing || (signatures === 0 && isComplete)) return [];
  const tried = `${keys} keys (the secrets and their spellings), ${prefixes} readings of the headers and ${bodies} bodies, ${signatures} signatures in all: none matches the header.`;
  const bound = isComplete ? "" : " The body or a secret is too large to try more.";
  const [fault] = text ? faultsOf(text) : [];
  const cause =
    fault !== undefined
      ? `The body is no JSON from byte ${Buffer.byteLength(text.slice(0, fault.offset))} on, and the gateway sends JSON: most likely the text was changed there.`
      : contentLength === bytes.length
        ? "The body is as long as Content-Length says, so most likely the secret is wrong."
        : "Most likely the secret is wrong, or the bytes were changed in an unknown way.";
  const fix = `Compare the secret with the one that was chosen when the webhook of this type was registered. The gateway never shows it again, so if it is lost, register the webhook again. If the secret is right, the bytes are wrong. ${SIGNATURE_FINDINGS.unexplained}`;
  const message = `Tried ${tried}${bound} ${cause}`;
  return [{ code: "unexplained", certainty: "possible", message, fix }];
}
