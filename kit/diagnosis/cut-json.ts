import { textOfUtf8 } from "./captured-body.js";

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

function isCut(text: string): boolean {
  const { isInString, closers } = readOpen(text);
  if (closers === "" || !/^\s*[{[]/.test(text)) return false;
  const ends = isInString
    ? [`${text.replace(/(^|[^\\])((?:\\\\)*)\\(?:u[0-9a-f]{0,3})?$/i, "$1$2")}"`]
    : [text, withoutLiteral(text)];
  // A value, the rest of a member after its key, or another member.
  const missing = ["", ":0", "0", '"":0'];
  return ends.some((end) => missing.some((more) => isJson(end + more + closers)));
}

/** Only the end is searched: a search of the whole text is quadratic in a long run of letters. */
function withoutLiteral(text: string): string {
  return text.slice(0, -MAX_LITERAL) + text.slice(-MAX_LITERAL).replace(LITERAL, "$1");
}

/** The brackets that are open at the end, and whether the end is inside a string. */
function readOpen(text: string): { isInString: boolean; closers: string } {
  const open: string[] = [];
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "{") open.push("}");
    else if (character === "[") open.push("]");
    else if (character === "}" || character === "]") open.pop();
  }
  return { isInString, closers: open.reverse().join("") };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
