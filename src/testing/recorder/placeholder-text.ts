import { escapeOf } from "./json-text.js";
import { placeholderOfDate } from "./placeholder-date.js";
import { placeholderOfNumber } from "./placeholder-number.js";

/**
 * Text without meaning, of the same length in characters, UTF-16 units and UTF-8 bytes. Outside ASCII by
 * symbols that are part of no word, so that no name is left over. Half a surrogate pair stays half of
 * one. Text that is not JSON stays so; text of white space alone is kept, as it is read as no text.
 */
export function placeholderOfText(text: string): string {
  if (text.trim() === "") return text;
  return text
    .replace(/[\0-\x7f]/g, "x")
    .replace(/[^\0-\x7f]/gu, (character) =>
      character.length === 2 ? "🔹" : placeholderOfUnit(character.charCodeAt(0)),
    );
}

/** For a UTF-16 unit outside ASCII. */
function placeholderOfUnit(code: number): string {
  if (code >= 0xd800 && code <= 0xdbff) return "\ud800";
  if (code >= 0xdc00 && code <= 0xdfff) return "\udc00";
  return code < 0x800 ? "·" : "•";
}

/**
 * The same for what stands between the quotes of a JSON string, which stays escaped where it was: the
 * escapes of white space and punctuation as they are, a `\u0041` as another `\u`.
 */
export function placeholderOfJsonText(raw: string): string {
  return raw.replace(
    /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^u]|[^\\]+/g,
    (part) => {
      if (!part.startsWith("\\")) return placeholderOfText(part);
      if (!part.startsWith("\\u")) return part;
      const code = Number.parseInt(part.slice(2, 6), 16);
      if (part.length > 6) return "\\ud83d\\udd39";
      if (code < 0x20) return part;
      return escapeOf(code < 0x80 ? "x" : placeholderOfUnit(code));
    },
  );
}

/** A text whose form says more than its length: digits, a day or a moment, a web address. */
export function placeholderOfForm(text: string): string | undefined {
  if (/^-?\d+$/.test(text)) return placeholderOfNumber(text);
  const scheme = /^https?:\/\/(?=[\x21-\x7e]+$)/i.exec(text)?.[0];
  if (scheme !== undefined) return scheme + "x".repeat(text.length - scheme.length);
  return placeholderOfDate(text);
}

/** A value of an enum that is not documented: letters stay letters, digits digits and `_` what it is. */
export function placeholderOfEnum(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(text)) return placeholderOfText(text);
  return text.replace(/[a-z]/g, "x").replace(/[A-Z]/g, "X").replace(/\d/g, "9");
}
