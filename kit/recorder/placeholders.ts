import { gatewayTimeMs } from "../../src/records/gateway-time.js";

/**
 * Text without meaning and of the same length in characters, UTF-16 units and UTF-8 bytes. Characters outside
 * ASCII become symbols that are not part of any word. A lone surrogate stays a lone surrogate. Text that is not
 * JSON stays invalid JSON. Text of only white space is kept, since it counts as empty.
 */
export function placeholderOfText(text: string): string {
  if (text.trim() === "") return text;
  return text
    .replace(/[\0-\x7f]/g, "x")
    .replace(/[^\0-\x7f]/gu, (character) =>
      character.length === 2 ? "🔹" : placeholderOfUnit(character.charCodeAt(0)),
    );
}

/** The placeholder for a UTF-16 unit outside ASCII. */
function placeholderOfUnit(code: number): string {
  if (code >= 0xd800 && code <= 0xdbff) return "\ud800";
  if (code >= 0xdc00 && code <= 0xdfff) return "\udc00";
  return code < 0x800 ? "·" : "•";
}

/**
 * The same for the content of a JSON string. Escapes stay escapes: those of white space and punctuation are kept,
 * and `\u0041` becomes another `\u` escape.
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

/** A placeholder that keeps the form of digits, a day, a time or a web address; undefined for other text. */
export function placeholderOfForm(text: string): string | undefined {
  if (/^-?\d+$/.test(text)) return placeholderOfNumber(text);
  const scheme = /^https?:\/\/(?=[\x21-\x7e]+$)/i.exec(text)?.[0];
  if (scheme !== undefined) return scheme + "x".repeat(text.length - scheme.length);
  return placeholderOfDate(text);
}

/** A placeholder for an undocumented enum value: letters stay letters, digits stay digits and `_` stays. */
export function placeholderOfEnum(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(text)) return placeholderOfText(text);
  return text.replace(/[a-z]/g, "x").replace(/[A-Z]/g, "X").replace(/\d/g, "9");
}

/** Writes `text` as a JSON string in the style of `raw`, another JSON string: PHP escapes `/` and non-ASCII. */
export function encodeLike(raw: string, text: string): string {
  const json = JSON.stringify(text);
  const slashed = raw.includes("\\/") ? json.replaceAll("/", "\\/") : json;
  // Escapes below U+0080 do not show the style: JSON requires them for control characters.
  return /\\u(?!00[0-7])/.test(raw) ? slashed.replace(/[^\0-\x7f]/g, escapeOf) : slashed;
}

/** The `\u` escape of one UTF-16 unit. */
function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const DATE =
  /^\d{4}-\d{2}-\d{2}(?:([ Tt])\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}(?::?)\d{2})?)?$/;

/** Whether a text is a time in one of the gateway's two formats. */
export function isGatewayTime(text: string): boolean {
  return !Number.isNaN(gatewayTimeMs(text));
}

/** A fixed day in the format of `text`; undefined if `text` is not a real day or time. */
function placeholderOfDate(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [, separator, fraction = "", zone = ""] = match;
  if (!isGatewayTime(separator === undefined ? `${text} 00:00:00` : text)) return undefined;
  const time =
    separator === undefined
      ? ""
      : `${separator}04:05:06${fraction.replace(/\d/g, "0")}${zone.replace(/\d/g, "0")}`;
  return `2001-02-03${time}`;
}

const NUMBER = /^(-?)(\d+)(\.\d+)?(?:([eE][+-]?)(\d+))?$/;
const MAX_EXPONENT_DIGITS = 3;

/**
 * A number of the same shape as a JSON number or a text of digits. It has as many digits and the same sign, and
 * it stays whole, finite, safe or within 32 bits, because the receiver or its table checks that. All digits are nines: no day or month begins
 * with 99, and 13 to 19 nines are not a card number. An exponent of at most three digits stays.
 */
export function placeholderOfNumber(text: string): string {
  const [, sign = "", whole = "", fraction = "", e = "", exponent = ""] = NUMBER.exec(text) ?? [];
  const tail =
    (/^\.0*$/.test(fraction) ? fraction : fraction.replace(/\d/g, "9")) +
    (e === "" ? "" : e + (exponent.length > MAX_EXPONENT_DIGITS ? "999" : exponent));
  const nines = "9".repeat(whole.length);
  // 9999999999999999 is not a safe integer, but most numbers of 16 digits are.
  const eight = `8${nines.slice(1)}`;
  const kind = kindOf(text);
  const similar = [nines, eight, ...(kind === "narrow" ? [MAX_32_BITS] : [])].map(
    (digits) => sign + digits + tail,
  );
  return similar.find((candidate) => kindOf(candidate) === kind) ?? sign + FALLBACKS[kind];
}

/** Also the largest number of ten digits that fits. It begins with no day or month either. */
const MAX_32_BITS = "2147483647";

/** If shape and kind do not fit, as in 1.50e1, which is whole, the kind decides. */
const FALLBACKS = {
  narrow: "9",
  safe: "9".repeat(11),
  unsafe: "9".repeat(17),
  fractional: "9.9",
  infinite: "9e999",
};

function kindOf(text: string): keyof typeof FALLBACKS {
  const number = Number(text);
  if (!Number.isFinite(number)) return "infinite";
  if (!Number.isInteger(number)) return "fractional";
  if (Math.abs(number) < 2 ** 31) return "narrow";
  return Number.isSafeInteger(number) ? "safe" : "unsafe";
}
