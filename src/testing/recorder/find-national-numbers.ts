import { isCalendarDay } from "./calendar-day.js";
import { passesLuhn } from "./luhn.js";

/**
 * Whether a Swedish personnummer stands in a text, or a samordningsnummer, whose day has 60 added:
 * `(YY)YYMMDD-NNNC` with Luhn over ten digits; also as VAT number, `SE` and `01` around it.
 */
export function hasSwedishNumber(text: string): boolean {
  const plain = /(?<![0-9])(?:18|19|20)?([0-9]{6}) ?[-+ ]? ?([0-9]{4})(?![0-9])/g;
  const ofVat = /(?<![A-Za-z0-9])SE ?([0-9]{6})-?([0-9]{4}) ?01(?![0-9])/gi;
  return [plain, ofVat].some((spelling) =>
    anyMatch(text, spelling, (birth, end) => {
      const [, month, day] = pairsOf(birth);
      return isCalendarDay(month, day > 60 ? day - 60 : day) && passesLuhn(birth + end);
    }),
  );
}

const FIRST_WEIGHTS = [3, 7, 6, 1, 8, 9, 4, 5, 2, 1];
const SECOND_WEIGHTS = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1];

/**
 * Whether a Norwegian fødselsnummer stands in a text: `DDMMYYNNNCC`, modulo 11. Or a D number (day and
 * 40), an H number (month and 40) or one of the test population (month and 65 or 80). The first check
 * digit may be off by up to 3, as in the numbers that are given out from 2032 on.
 */
export function hasNorwegianNumber(text: string): boolean {
  const spelling = /(?<![0-9])([0-9]{6}) ?-? ?([0-9]{3} ?[0-9]{2})(?![0-9])/g;
  return anyMatch(text, spelling, (birth, end) => {
    const [day, month] = pairsOf(birth);
    const months = [0, 40, 65, 80].map((added) => month - added);
    const digits = birth + end;
    return (
      months.some((candidate) => isCalendarDay(candidate, day > 40 ? day - 40 : day)) &&
      weighted(digits, FIRST_WEIGHTS) % 11 <= 3 &&
      weighted(digits, SECOND_WEIGHTS) % 11 === 0
    );
  });
}

/**
 * Whether a Danish CPR number stands in a text: `DDMMYY-NNNN`, a day (with 60 added in the replacement
 * numbers of hospitals). By the day alone: since 2007 numbers are given out that modulo 11 would refuse.
 */
export function hasDanishNumber(text: string): boolean {
  const spelling = /(?<![0-9])([0-9]{6}) ?[-. ]? ?([0-9]{4})(?![0-9])/g;
  return anyMatch(text, spelling, (birth) => {
    const [day, month] = pairsOf(birth);
    return isCalendarDay(month, day > 60 ? day - 60 : day);
  });
}

const CHECK_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY";

/**
 * Whether a Finnish henkilötunnus stands in a text: `DDMMYY`, the sign of the century (those added in
 * 2023 too), three digits and a check character, modulo 31.
 */
export function hasFinnishNumber(text: string): boolean {
  const spelling = /(?<![0-9])([0-9]{6}) ?[-+A-FU-Y] ?([0-9]{3}[0-9A-Y])(?![0-9A-Za-z])/gi;
  return anyMatch(text, spelling, (birth, end) => {
    const [day, month] = pairsOf(birth);
    const check = CHECK_CHARACTERS[Number(birth + end.slice(0, 3)) % 31];
    return isCalendarDay(month, day) && check === end.slice(3).toUpperCase();
  });
}

/** Whether one of the matches, its two halves without spaces, passes the check. */
function anyMatch(
  text: string,
  spelling: RegExp,
  passes: (birth: string, end: string) => boolean,
): boolean {
  for (const [, birth = "", end = ""] of text.matchAll(spelling)) {
    if (passes(birth, end.replace(" ", ""))) return true;
  }
  return false;
}

function pairsOf(birth: string): [number, number, number] {
  return [Number(birth.slice(0, 2)), Number(birth.slice(2, 4)), Number(birth.slice(4, 6))];
}

function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, place) => sum + weight * Number(digits[place]), 0);
}
