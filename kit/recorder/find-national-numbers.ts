import { passesLuhn } from "./find-card-numbers.js";

/** Birth dates in one piece or with one kind of separator: 811218, 1981-12-18, 18.12.1981. */
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

const FIRST_WEIGHTS = [3, 7, 6, 1, 8, 9, 4, 5, 2, 1];
const SECOND_WEIGHTS = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1];
const CHECK_CHARACTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY";

/** The national numbers: how they are written, and what their parts must pass. */
const NUMBERS = {
  /** A personnummer, or a samordningsnummer (day plus 60): Luhn over ten digits. Also as a VAT number. */
  swedish_number: {
    spellings: [SWEDISH, SWEDISH_VAT],
    passes: ({ year, month, day, end }) =>
      isDay(Number(month), Number(day), 60) && passesLuhn(year + month + day + end),
  },
  /**
   * A fødselsnummer: `DDMMYYNNNCC`, modulo 11. Also a D number (day plus 40), an H number (month plus 40) or one
   * of the test population (month plus 65 or 80). The first check digit may be off by up to 3, as in the numbers
   * issued from 2032 on.
   */
  norwegian_number: {
    spellings: [NORWEGIAN],
    passes: ({ year, month, day, end }) => {
      const months = [0, 40, 65, 80].map((added) => Number(month) - added);
      const digits = day + month + year + end;
      return (
        months.some((candidate) => isDay(candidate, Number(day), 40)) &&
        weighted(digits, FIRST_WEIGHTS) % 11 <= 3 &&
        weighted(digits, SECOND_WEIGHTS) % 11 === 0
      );
    },
  },
  /**
   * A CPR number: `DDMMYY-NNNN` with a real day (plus 60 in the replacement numbers of hospitals). Only the day is
   * checked: numbers issued since 2007 may fail modulo 11.
   */
  danish_number: {
    spellings: [DANISH],
    passes: ({ month, day }) => isDay(Number(month), Number(day), 60),
  },
  /**
   * A henkilötunnus: `DDMMYY`, a century sign (including those added in 2023), three digits and a check character,
   * modulo 31.
   */
  finnish_number: {
    spellings: [FINNISH],
    passes: ({ year, month, day, end }) => {
      const check = CHECK_CHARACTERS[Number(day + month + year + end.slice(0, 3)) % 31];
      return isCalendarDay(Number(month), Number(day)) && check === end.slice(3).toUpperCase();
    },
  },
} satisfies Record<string, NationalNumber>;

/** A kind of national number. */
export type NationalNumberKind = keyof typeof NUMBERS;

/** Whether a text contains a national number of this kind. */
export function hasNationalNumber(text: string, kind: NationalNumberKind): boolean {
  const { spellings, passes } = NUMBERS[kind];
  return spellings.some((spelling) => anyMatch(text, spelling, passes));
}

/** In a lookahead, so that digits before a number that look like its start do not hide it. */
function spellingOf(source: string): RegExp {
  return new RegExp(`(?<![0-9])(?=${source})`, "gi");
}

/** The parts of a number: two digits each for the birth date, and the rest without spaces. */
interface Parts {
  readonly year: string;
  readonly month: string;
  readonly day: string;
  readonly end: string;
}

interface NationalNumber {
  readonly spellings: readonly RegExp[];
  readonly passes: (parts: Parts) => boolean;
}

/** Whether the parts of any match pass the check. */
function anyMatch(text: string, spelling: RegExp, passes: (parts: Parts) => boolean): boolean {
  for (const { groups = {} } of text.matchAll(spelling)) {
    const { year = "", month = "", day = "", end = "" } = groups;
    if (passes({ year, month, day, end: end.replace(" ", "") })) return true;
  }
  return false;
}

/** Whether the number is a day of the month, possibly with `added` on top. */
function isDay(month: number, day: number, added: number): boolean {
  return isCalendarDay(month, day > added ? day - added : day);
}

function weighted(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, place) => sum + weight * Number(digits[place]), 0);
}

const LAST_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether the day exists in some year: the century is not known. */
function isCalendarDay(month: number, day: number): boolean {
  return day >= 1 && day <= (LAST_DAYS[month - 1] ?? 0);
}
