import { parse, printParseErrorCode, type ParseError } from "jsonc-parser";
import { textOfUtf8 } from "../json-parts.js";

/** What logs and tools write where they stop. */
const CUT_MARK =
  /(?:(?:\.{3}|…)[^"{}]{0,40}|[[(<][^\])>]{0,40}(?:truncated|omitted|more)[^\])>]{0,40}[\])>])\s*$/i;
/** A literal or a number that is cut in two, behind what comes before a value. */
const LITERAL = /([:,[]\s*)(?:tr?u?|fa?l?s?|nu?l?|[0-9.e+-]+)$/i;
const MAX_LITERAL = 32;
/** A character takes at most four bytes in UTF-8. */
const MAX_REST = 3;

/** Whether the bytes are JSON that ends too early: with a few more characters it would be complete. */
export function isCutJson(bytes: Uint8Array): boolean {
  const text = textOfBeginning(bytes);
  return text !== undefined && [text, text.replace(CUT_MARK, "")].some((one) => isCut(one));
}

/** The text without a character that is cut in two. */
function textOfBeginning(bytes: Uint8Array): string | undefined {
  for (let rest = 0; rest <= MAX_REST; rest++) {
    const text = textOfUtf8(bytes.subarray(0, bytes.length - rest));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Whether the only faults of the text are at its end. */
function isCut(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  const errors: ParseError[] = [];
  const whole = withoutLiteral(text);
  try {
    parse(whole, errors, { disallowComments: true });
  } catch {
    // Nested deeper than the stack.
    return false;
  }
  const isAtEnd = ({ error, offset, length }: ParseError): boolean =>
    offset >= whole.length ||
    (offset + length >= whole.length && printParseErrorCode(error) === "UnexpectedEndOfString");
  return errors.length > 0 && errors.every(isAtEnd);
}

/** Only the end is searched: a search of the whole text is quadratic in a long run of letters. */
function withoutLiteral(text: string): string {
  return text.slice(0, -MAX_LITERAL) + text.slice(-MAX_LITERAL).replace(LITERAL, "$1");
}
