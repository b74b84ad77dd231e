const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const DIGEST = "[0-9a-f]{32,}";
const MONTH = "(?:0[1-9]|1[0-2])";
const TIME =
  "[0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2}(?![0-9]))?";
const TIMESTAMP = `[0-9]{4}-${MONTH}-[0-3][0-9][ T]${TIME}`;
/** A year never begins with 0, as phone numbers do: 0480-10-20-30. */
const YEAR_FIRST = `[1-9][0-9]{3}-${MONTH}-[0-3][0-9]`;
/** Not after a year, like 10-05-2044 in 1949-10-05-2044. */
const YEAR_LAST = `(?<![0-9]{4}-(?=[0-9]{2}-))[0-3][0-9]([-./])${MONTH}\\1(?:19|20)[0-9]{2}`;
/** A day that is followed by the rest of a national number is the start of that number. */
const NUMBER_BEHIND = " ?[-+./_ A-FU-Y]? ?[0-9]{3}";

const IDS = `(?<![0-9A-Za-z])(?:${UUID}|${DIGEST})(?![0-9A-Za-z])`;
const TIMESTAMPS = `(?<![0-9])${TIMESTAMP}(?![0-9])`;
// After +45 the groups of a phone number may look like a day.
const DAYS = `(?<![0-9]|\\+[0-9]{1,3}[ -])(?:${YEAR_FIRST}|${YEAR_LAST})(?![0-9])`;

const ALL = new RegExp(`${IDS}|${TIMESTAMPS}|${DAYS}`, "gi");
const ALL_BUT_BIRTHS = new RegExp(`${IDS}|${TIMESTAMPS}|${DAYS}(?!${NUMBER_BEHIND})`, "gi");

/**
 * The text without digits that machines write and that identify no person: UUIDs, digests and other hexadecimal
 * texts, days and times. A mark replaces each, so that their digits are not mistaken for a number.
 */
export function withoutMachineTexts(text: string): string {
  return text.replace(ALL, "·");
}

/** The same, but keeps days that may start a national number: 1981-12-18-9876. */
export function withoutMachineTextsButBirths(text: string): string {
  return text.replace(ALL_BUT_BIRTHS, "·");
}
