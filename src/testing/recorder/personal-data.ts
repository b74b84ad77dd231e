import { hasCardNumber } from "./find-card-numbers.js";
import { hasEmailAddress } from "./find-contact-details.js";
import { hasIban } from "./find-ibans.js";
import {
  hasDanishNumber,
  hasFinnishNumber,
  hasNorwegianNumber,
  hasSwedishNumber,
} from "./find-national-numbers.js";
import { hasPhoneNumber } from "./find-contact-details.js";
import { withoutMachineTexts, withoutMachineTextsButBirths } from "./machine-texts.js";
import { readableForms } from "./readable-forms.js";

/** Each kind and how it is found. Those of digits alone are looked for where no machine wrote them. */
const FINDERS = {
  email: hasEmailAddress,
  phone: (text: string) => hasPhoneNumber(withoutMachineTexts(text)),
  iban: hasIban,
  swedish_number: (text: string) => hasSwedishNumber(withoutMachineTextsButBirths(text)),
  norwegian_number: (text: string) => hasNorwegianNumber(withoutMachineTextsButBirths(text)),
  danish_number: (text: string) => hasDanishNumber(withoutMachineTextsButBirths(text)),
  finnish_number: (text: string) => hasFinnishNumber(withoutMachineTextsButBirths(text)),
  card: (text: string) => hasCardNumber(withoutMachineTexts(text)),
};

/** What looks like a person's. */
export type PersonalDataKind = keyof typeof FINDERS;

const KINDS = Object.keys(FINDERS) as PersonalDataKind[];

/**
 * The kinds of personal data that a text seems to hold: e-mail addresses, phone numbers, IBANs, Swedish,
 * Norwegian, Danish and Finnish national numbers and payment cards, in their usual spellings and under
 * JSON escapes, percent encoding and HTML references.
 *
 * A net and no proof: names, addresses and bare numbers without a check digit pass through it. And where
 * only the form speaks it says yes: every 27th number of ten digits looks like a Danish one.
 */
export function findPersonalData(text: string): readonly PersonalDataKind[] {
  const forms = [...readableForms(text)];
  return KINDS.filter((kind) => forms.some((form) => FINDERS[kind](form)));
}
