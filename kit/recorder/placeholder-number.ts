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
