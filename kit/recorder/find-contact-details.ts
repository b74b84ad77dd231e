const LOCAL_END = /[\p{L}\p{N}!#$%&'*+/=?^_`{|}~"-]$/u;
const DOMAIN = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62})\.)+[\p{L}\p{N}-]{2,63}|^\[[0-9a-f.:]+\]/iu;
const MAX_DOMAIN_LENGTH = 255;

/** Whether a text contains an e-mail address: a local part, `@`, and a domain of two labels or a host address. */
export function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    // Only looks around each @: a single expression is slow on a long text without one.
    const before = text.slice(Math.max(0, at - 2), at);
    const behind = text.slice(at + 1, at + 1 + MAX_DOMAIN_LENGTH);
    if (LOCAL_END.test(before) && DOMAIN.test(behind)) return true;
  }
  return false;
}

/** One expression for each notation. Repetitions are bounded, so the time is linear in the text. */
const SPELLINGS: readonly RegExp[] = [
  // International: +46 (0)70-123 45 67, 0046 70 123 45 67.
  /(?:\+|(?<![0-9]\.|[0-9])00 ?)[1-9](?:[ ./()-]{0,3}[0-9]){6,14}(?![0-9])/,
  // National with a leading 0: 070-123 45 67, (08) 12 34 56, 0401234567. No decimals: 1.0701234567.
  /(?<![0-9][.,]|[0-9])\(?0[1-9](?:[ ./()-]{0,3}[0-9]){6,9}(?![0-9])/,
  // After a number and a comma, as in CSV, only with a hyphen, which decimals do not have.
  /(?<=[0-9],)0[1-9][0-9]{0,2} ?- ?[0-9](?:[ -]?[0-9]){4,7}(?![0-9])/,
  // Denmark and Norway have no leading 0: 12 34 56 78, 412 34 567.
  /(?<![0-9])[2-9][0-9]([ -])[0-9]{2}(?:\1[0-9]{2}){2}(?![0-9])/,
  /(?<![0-9])[49][0-9]{2}[ -][0-9]{2}[ -][0-9]{3}(?![0-9])/,
  // North America: (555) 123-4567, 555.123.4567.
  /(?<![0-9])\(?[2-9][0-9]{2}\)?[ .-][0-9]{3}[ .-][0-9]{4}(?![0-9])/,
  // The country code without + or 00, as in databases: Nordic numbers by their lengths.
  /(?<![0-9]\.|[0-9+-])(?:46[ -]?7(?:[ -]?[0-9]){8}|47[ -]?[49](?:[ -]?[0-9]){7}|45[ -]?[2-9](?:[ -]?[0-9]){7}|358[ -]?(?:4[0-9]|50)(?:[ -]?[0-9]){6,8})(?![0-9])/,
];

/** Whether a text contains a phone number. Only the notation decides: plain digits may be anything. */
export function hasPhoneNumber(text: string): boolean {
  return SPELLINGS.some((spelling) => spelling.test(text));
}
