import type { Random } from "../../../kit/random.js";

// Made by rules of their own, and not by those of the detector that they put to the test.

const pad = (value: number, length: number): string => String(value).padStart(length, "0");
const digits = (random: Random, count: number): string =>
  Array.from({ length: count }, () => String(random.below(10))).join("");

/** A day of birth as year, month and day, of two digits each but for the year. */
function birth(random: Random): { year: number; month: string; day: string } {
  const date = new Date(Date.UTC(1920 + random.below(100), random.below(12), 1 + random.below(28)));
  const [year = "", month = "", day = ""] = date.toISOString().slice(0, 10).split("-");
  return { year: Number(year), month, day };
}

/** The digit that makes the Luhn sum a multiple of ten. */
function luhnDigit(payload: string): string {
  const sum = Array.from(payload)
    .reverse()
    .reduce((total, character, index) => {
      const doubled = Number(character) * (index % 2 === 0 ? 2 : 1);
      return total + Math.floor(doubled / 10) + (doubled % 10);
    }, 0);
  return String((10 - (sum % 10)) % 10);
}

/** Swedish, ten digits; a samordningsnummer now and then. */
export function personnummer(random: Random): { century: string; birth: string; end: string } {
  const { year, month, day } = birth(random);
  const shown = random.chance(5) ? pad(Number(day) + 60, 2) : day;
  const born = pad(year % 100, 2) + month + shown;
  const serial = digits(random, 3);
  return {
    century: String(Math.floor(year / 100)),
    birth: born,
    end: serial + luhnDigit(born + serial),
  };
}

/** Norwegian, eleven digits; a D number or one of the test population now and then. */
export function fodselsnummer(random: Random): { birth: string; end: string } {
  for (;;) {
    const { year, month, day } = birth(random);
    const kind = random.below(6);
    const shownDay = kind === 0 ? pad(Number(day) + 40, 2) : day;
    const shownMonth = kind === 1 ? pad(Number(month) + 80, 2) : month;
    const first9 = shownDay + shownMonth + pad(year % 100, 2) + digits(random, 3);
    const k1 = remainder(first9, [3, 7, 6, 1, 8, 9, 4, 5, 2]);
    const k2 = remainder(first9 + String(k1), [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    if (k1 < 10 && k2 < 10) {
      return { birth: first9.slice(0, 6), end: first9.slice(6) + String(k1) + String(k2) };
    }
  }
}

function remainder(text: string, weights: readonly number[]): number {
  const sum = weights.reduce((total, weight, at) => total + weight * Number(text[at]), 0);
  return (11 - (sum % 11)) % 11;
}

/** Danish, ten digits, with no check digit. */
export function cpr(random: Random): { birth: string; end: string } {
  const { year, month, day } = birth(random);
  return { birth: day + month + pad(year % 100, 2), end: digits(random, 4) };
}

/** Finnish, with an old or a new sign of the century. */
export function hetu(random: Random): string {
  const { year, month, day } = birth(random);
  const born = day + month + pad(year % 100, 2);
  const serial = pad(2 + random.below(898), 3);
  const sign = year < 2000 ? random.pick(Array.from("-YXWVU")) : random.pick(Array.from("ABCDEF"));
  const check = "0123456789ABCDEFHJKLMNPRSTUVWXY".charAt(Number(born + serial) % 31);
  return born + sign + serial + check;
}

/** An IBAN of a Nordic or another country, in one piece. */
export function iban(random: Random): string {
  const [country, account] = random.pick<[string, string]>([
    ["SE", digits(random, 20)],
    ["NO", digits(random, 11)],
    ["DK", digits(random, 14)],
    ["FI", digits(random, 14)],
    ["DE", digits(random, 18)],
    ["GB", `NWBK${digits(random, 14)}`],
    ["MT", `MALT${digits(random, 12)}MTLCAST001S`],
  ]);
  const letters = `${account}${country}00`.replace(/[A-Z]/g, (letter) =>
    String(letter.charCodeAt(0) - 55),
  );
  return `${country}${pad(Number(98n - (BigInt(letters) % 97n)), 2)}${account}`;
}

/** A payment card's number of 13 to 19 digits. */
export function cardNumber(random: Random): string {
  const [prefix, length] = random.pick<[string, number]>([
    ["4", 16],
    ["4", 13],
    ["51", 16],
    ["2223", 16],
    ["34", 15],
    ["36", 14],
    ["6011", 16],
    ["62", 19],
  ]);
  const payload = prefix + digits(random, length - 1 - prefix.length);
  return payload + luhnDigit(payload);
}

/** A phone number's country code and its digits without the leading 0. */
export function phone(random: Random): { code: string; digits: string } {
  return random.pick([
    { code: "46", digits: `7${random.pick(Array.from("02369"))}${digits(random, 7)}` },
    { code: "47", digits: `${random.pick(Array.from("49"))}${digits(random, 7)}` },
    { code: "45", digits: `${random.pick(Array.from("2345678"))}${digits(random, 7)}` },
    { code: "358", digits: `40${digits(random, 7)}` },
  ]);
}
