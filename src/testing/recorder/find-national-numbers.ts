import { passesLuhn } from "./find-card-numbers.js";

/** Birth dates, in one piece or with the same mark between the parts: 811218, 1981-12-18, 18.12.1981. */
const YEAR_FIRST =
  "(?:18|19|20)?(?<year>[0-9]{2})(?<mark>[-./ ]?)(?<month>[0-9]{2})\\k<mark>(?<day>[0-9]{2})";
const DAY_FIRST =
  "(?<day>[0-9]{2})(?<mark>[-./ ]?)(?<month>[0-9]{2})\\k<mark>(?:18|19|20)?(?<year>[0-9]{2})";

const SWEDISH = spellingOf(`${YEAR_FIRST} ?[-+./_ ]? ?(?<end>[0-9]{4})(?![0-9])`);
const SWEDISH_VAT =
  /(?<![A-Za-z0-9])SE ?(?<year>[0-9]{2})(?<month>[0-9]{2})(?<day>[0-9]{2})-?(?<end>[0-9]{4}) ?01(?![0-9])/gi;
const NORWEGIAN = spellingOf(`${DAY_FIRST} ?[-./_ ]? ?(?<end>[0-9]{3} ?[0-9]{2})(?![0-9])`);
const DANISH = spellingOf(`${DAY_FIRST} ?[-./_ ]? ?(?<end>[0-9]{4})(?![0-9])`);
const FINNISH = spellingOf(`${DAY_FIRST} ?[-+A-FU-Y] ?(?<end>[0-9]{3}[0-9A-Y])(?![0-9A-Za-z])`);

/**
 * Whether a Swedish personnummer stands in a text, or a samordningsnummer, whose day has 60 added:
 * `(YY)YYMMDD-NNNC` with Luhn over ten digits; also as VAT number, `SE` and `01` around it.
 */
export function hasSwedishNumber(text: string): boolean {
  return [SWEDISH, SWEDISH_VAT].some((spelling) =>
    anyMatch(text, spelling, ({ year, month, day, end }) => {
      return isDay(Number(month), Number(day), 60) && passesLuhn(year + month + day + end);
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
  return anyMatch(text, NORWEGIAN, ({ year, month, day, end }) => {
    const months = [0, 40, 65, 80].map((added) => Number(month) - added);
    const digits = day + month + year + end;
    return (
      months.some((candidate) => isDay(candidate, Number(day), 40)) &&
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
  return anyMatch(text, DANISH, ({ month, day }) => isDay(Number(month), Number(day), 60));
}

const CHECK_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY";

/**
 * Whether a Finnish henkilötunnus stands in a text: `DDMMYY`, the sign of the century (those added in
 * 2023 too), three digits and a check character, modulo 31.
 */
export function hasFinnishNumber(text: string): boolean {
  return anyMatch(text, FINNISH, ({ year, month, day, end }) => {
    const check = CHECK_CHARACTERS[Number(day + month + year + end.slice(0, 3)) % 31];
    return isCalendarDay(Number(month), Number(day)) && check === end.slice(3).toUpperCase();
  });
}

/** Within a lookahead, so that no number is hidden by digits in front that look like its beginning. */
function spellingOf(source: string): RegExp {
  return new RegExp(`(?<![0-9])(?=${source})`, "gi");
}

/** The digits of a number; two each of the birth date, and what stands behind it without spaces. */
interface Parts {
  readonly year: string;
  readonly month: string;
  readonly day: string;
  readonly end: string;
}

/** Whether the parts of one of the matches pass the check. */
function anyMatch(text: string, spelling: RegExp, passes: (parts: Parts) => boolean): boolean {
  for (const { groups = {} } of text.matchAll(spelling)) {
    const { year = "", month = "", day = "", end = "" } = groups;
    if (passes({ year, month, day, end: end.replace(" ", "") })) return true;
  }
  return false;
}

/** Whether it is a day, or one with so much added. */
function isDay(month: number, day: number, added: number): boolean {
  return isCalendarDay(month, day > added ? day - added : day);
}

function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, place) => sum + weight * Number(digits[place]), 0);
}

const LAST_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether there is such a day in some year; national numbers leave the century to be guessed. */
function isCalendarDay(month: number, day: number): boolean {
  return day >= 1 && day <= (LAST_DAYS[month - 1] ?? 0);
}
