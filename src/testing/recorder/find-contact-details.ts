const LOCAL_END = /[\p{L}\p{N}!#$%&'*+/=?^_`{|}~"-]$/u;
const DOMAIN = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62})\.)+[\p{L}\p{N}-]{2,63}|^\[[0-9a-f.:]+\]/iu;
const MAX_DOMAIN_LENGTH = 255;

/** Whether an e-mail address stands in a text: something, an `@` and a domain of two labels, or an address of a host. */
export function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    // Looked for around each @ alone: by one expression, a text without any would take long.
    const before = text.slice(Math.max(0, at - 2), at);
    const behind = text.slice(at + 1, at + 1 + MAX_DOMAIN_LENGTH);
    if (LOCAL_END.test(before) && DOMAIN.test(behind)) return true;
  }
  return false;
}

/** Each finds one manner of writing. Bounded repetitions, so that the time is linear in the text. */
const SPELLINGS: readonly RegExp[] = [
  // International: +46 (0)70-123 45 67, 0046 70 123 45 67.
  /(?:\+|(?<![0-9]\.|[0-9])00 ?)[1-9](?:[ ./()-]{0,3}[0-9]){6,14}(?![0-9])/,
  // National with a leading 0: 070-123 45 67, (08) 12 34 56, 0401234567. No decimals: 1.0701234567.
  /(?<![0-9][.,]|[0-9])\(?0[1-9](?:[ ./()-]{0,3}[0-9]){6,9}(?![0-9])/,
  // Behind a number and a comma, as in CSV, only with a hyphen, which decimals have not.
  /(?<=[0-9],)0[1-9][0-9]{0,2} ?- ?[0-9](?:[ -]?[0-9]){4,7}(?![0-9])/,
  // Denmark and Norway, which have no leading 0: 12 34 56 78, 412 34 567.
  /(?<![0-9])[2-9][0-9]([ -])[0-9]{2}(?:\1[0-9]{2}){2}(?![0-9])/,
  /(?<![0-9])[49][0-9]{2}[ -][0-9]{2}[ -][0-9]{3}(?![0-9])/,
  // North America: (555) 123-4567, 555.123.4567.
  /(?<![0-9])\(?[2-9][0-9]{2}\)?[ .-][0-9]{3}[ .-][0-9]{4}(?![0-9])/,
  // The country's code without + or 00, as databases have it: Nordic numbers by their own lengths.
  /(?<![0-9]\.|[0-9+-])(?:46[ -]?7(?:[ -]?[0-9]){8}|47[ -]?[49](?:[ -]?[0-9]){7}|45[ -]?[2-9](?:[ -]?[0-9]){7}|358[ -]?(?:4[0-9]|50)(?:[ -]?[0-9]){6,8})(?![0-9])/,
];

/** Whether a phone number stands in a text, by how it is written: bare digits may be anything. */
export function hasPhoneNumber(text: string): boolean {
  return SPELLINGS.some((spelling) => spelling.test(text));
}
