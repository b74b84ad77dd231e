import type { Random } from "../random.js";

/** The personal data of a sample. All of it is made up and belongs to no real person. */
export interface SampleSubject {
  readonly name: string;
  /** Address at example.com, which is reserved (RFC 2606). */
  readonly email: string;
  /** From 070-1740605 to 070-1740699, which the Swedish regulator reserves for fiction. */
  readonly phone: string;
  /** Month and day are zero, or all digits are zero, so it belongs to no one. */
  readonly nationalId: { readonly country: string; readonly value: string };
  /** With the check digits 00, which no IBAN has. */
  readonly iban: string;
  /** A test card number. */
  readonly card: string;
  readonly passport: { readonly country: string; readonly value: string };
  readonly driversLicense: { readonly country: string; readonly value: string };
}

const FIRST_NAMES = ["Astrid", "Tolvan", "Åse", "Jørgen", "Päivi", "Test"];
const LAST_NAMES = ["Exempel", "Testsson", "Eksempelsen", "Esimerkki"];
const NATIONAL_IDS = [
  { country: "SE", value: "19000000-0000" },
  { country: "NO", value: "00000000000" },
  { country: "DK", value: "000000-0000" },
  { country: "FI", value: "000000-0000" },
];
const IBANS = ["GB00TEST00000000000000", "SE0000000000000000000000", "DE00000000000000000000"];
const CARDS = ["4242424242424242", "4111111111111111", "5555555555554444"];
const COUNTRIES = ["SE", "NO", "DK", "FI"];

/** Makes up a person. */
export function sampleSubject(random: Random): SampleSubject {
  const phone = 605 + random.below(95);
  return {
    name: `${random.pick(FIRST_NAMES)} ${random.pick(LAST_NAMES)}`,
    email: `person.${String(random.below(100_000))}@example.com`,
    phone: `+46701740${String(phone)}`,
    nationalId: random.pick(NATIONAL_IDS),
    iban: random.pick(IBANS),
    card: random.pick(CARDS),
    passport: { country: random.pick(COUNTRIES), value: `XX000000${String(random.below(10))}` },
    driversLicense: {
      country: random.pick(COUNTRIES),
      value: `TEST-${String(random.below(1_000_000)).padStart(6, "0")}`,
    },
  };
}
