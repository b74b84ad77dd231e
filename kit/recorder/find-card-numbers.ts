const MIN_LENGTH = 13;
const MAX_LENGTH = 19;

/**
 * Whether a text contains a payment card number: 13 to 19 digits that pass the Luhn formula, in one piece or in
 * groups with up to three separators between them. No number begins with 0, and only numbers of 15 digits
 * (UATP) begin with 1. That excludes Unix times in milliseconds, microseconds and nanoseconds.
 */
export function hasCardNumber(text: string): boolean {
  for (const [run] of text.matchAll(/[0-9](?:[ ._\n-]{0,3}[0-9]){12,}/g)) {
    // Other digits may stand next to the number, so each sequence of whole groups is tried.
    const groups = run.split(/[ ._\n-]+/);
    for (let first = 0; first < groups.length; first++) {
      if (beginsWithCard(groups.slice(first, first + MAX_LENGTH))) return true;
    }
  }
  return false;
}

function beginsWithCard(groups: readonly string[]): boolean {
  let digits = "";
  for (const group of groups) {
    digits += group;
    if (isCardNumber(digits)) return true;
  }
  return false;
}

function isCardNumber(digits: string): boolean {
  const { length } = digits;
  if (length < MIN_LENGTH || length > MAX_LENGTH || digits.startsWith("0")) return false;
  return (!digits.startsWith("1") || length === 15) && passesLuhn(digits);
}

/** Whether digits pass the Luhn formula. The last one is the check digit. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const weighted = place % 2 === 0 ? digit : 2 * digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}
