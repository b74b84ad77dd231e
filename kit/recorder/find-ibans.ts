/** Length of the IBAN of each country (SWIFT IBAN registry). */
const REGISTRY =
  "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18" +
  "FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21" +
  "LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24" +
  "SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30";

const LENGTHS = new Map(
  Array.from(REGISTRY.matchAll(/.{4}/g), ([entry]) => [entry.slice(0, 2), Number(entry.slice(2))]),
);
/** Longer than any IBAN with three separators between all characters. */
const MAX_SPELLING_LENGTH = 136;

/** Country and check digits, at the start of a word or after the word IBAN: IBANSE45. */
const START = /(?<=^|[^0-9A-Z]|IBAN)[A-Z]{2}[0-9]{2}/gi;

/** Whether a text contains an IBAN, in one piece or in groups: right length for its country and modulo 97. */
export function hasIban(text: string): boolean {
  for (const { 0: start, index } of text.matchAll(START)) {
    const length = LENGTHS.get(start.slice(0, 2).toUpperCase());
    if (length === undefined) continue;
    const spelling = text.slice(index, index + MAX_SPELLING_LENGTH);
    const iban = spelling
      .replace(/(?:[^A-Za-z0-9 ._\n-]|[ ._\n-]{4}).*/s, "")
      .replace(/[ ._\n-]/g, "")
      .slice(0, length)
      .toUpperCase();
    if (iban.length === length && isModulo97(iban)) return true;
  }
  return false;
}

/** ISO 13616: with the first four characters moved to the end and letters as 10 to 35, modulo 97 is 1. */
function isModulo97(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
