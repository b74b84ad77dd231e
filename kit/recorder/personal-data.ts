import { hasCardNumber } from "./find-card-numbers.js";
import { hasEmailAddress, hasPhoneNumber } from "./find-contact-details.js";
import { hasIban } from "./find-ibans.js";
import { hasNationalNumber, type NationalNumberKind } from "./find-national-numbers.js";
import { withoutMachineTexts, withoutMachineTextsButBirths } from "./machine-texts.js";
import { readableForms } from "./readable-forms.js";

/**
 * A kind of personal data. A minor version may add members.
 *
 * @experimental
 */
export type PersonalDataKind =
  | "email"
  | "phone"
  | "iban"
  | "swedish_number"
  | "norwegian_number"
  | "danish_number"
  | "finnish_number"
  | "card";

/** How each kind is found. Kinds that are only digits are searched after machine-written digits are removed. */
const FINDERS: Readonly<Record<PersonalDataKind, (text: string) => boolean>> = {
  email: hasEmailAddress,
  phone: (text) => hasPhoneNumber(withoutMachineTexts(text)),
  iban: hasIban,
  swedish_number: national("swedish_number"),
  norwegian_number: national("norwegian_number"),
  danish_number: national("danish_number"),
  finnish_number: national("finnish_number"),
  card: (text) => hasCardNumber(withoutMachineTexts(text)),
};

function national(kind: NationalNumberKind): (text: string) => boolean {
  return (text) => hasNationalNumber(withoutMachineTextsButBirths(text), kind);
}

const KINDS = Object.keys(FINDERS) as PersonalDataKind[];

/**
 * Finds kinds of personal data in a text: e-mail addresses, phone numbers, IBANs, payment cards, and Swedish,
 * Norwegian, Danish and Finnish national numbers. Reads their usual notations, also in JSON escapes, percent
 * encoding and HTML references.
 *
 * This is a safety net and not a proof. It misses names, addresses and plain numbers without a check digit. It
 * also reports false positives where only the notation decides: every 27th number of ten digits looks Danish.
 *
 * @experimental
 */
export function findPersonalData(text: string): readonly PersonalDataKind[] {
  const forms = [...readableForms(text)];
  return KINDS.filter((kind) => forms.some((form) => FINDERS[kind](form)));
}
