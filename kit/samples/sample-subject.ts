import type { Random } from "../random.js";

/** The personal data of a sample. All of it is made up and belongs to no real person. */
export type SampleSubject = ReturnType<typeof sampleSubject>;

const FIRST_NAMES = ["Astrid", "Tolvan", "Åse", "Jørgen", "Päivi", "Test"];
const LAST_NAMES = ["Exempel", "Testsson", "Eksempelsen", "Esimerkki"];
/** Month and day are zero, or all digits are zero, so they belong to no one. */
const NATIONAL_IDS = [
  { country: "SE", value: "19000000-0000" },
  { country: "NO", value: "00000000000" },
  { country: "DK", value: "000000-0000" },
  { country: "FI", value: "000000-0000" },
];
/** With the check digits 00, which no IBAN has. */
const IBANS = ["GB00TEST00000000000000", "SE0000000000000000000000", "DE00000000000000000000"];
/** Test card numbers. */
const CARDS = ["4242424242424242", "4111111111111111", "5555555555554444"];
const COUNTRIES = ["SE", "NO", "DK", "FI"];

/** Makes up a person. */
export function sampleSubject(random: Random) {
  // From 070-1740605 to 070-1740699, which the Swedish regulator reserves for fiction.
  const phone = 605 + random.below(95);
  return {
    name: `${random.pick(FIRST_NAMES)} ${random.pick(LAST_NAMES)}`,
    // An address at example.com, which is reserved (RFC 2606).
    email: `person.${random.below(100_000)}@example.com`,
    phone: `+46701740${phone}`,
    nationalId: random.pick(NATIONAL_IDS),
    iban: random.pick(IBANS),
    card: random.pick(CARDS),
    passport: { country: random.pick(COUNTRIES), value: `XX000000${random.below(10)}` },
    driversLicense: {
      country: random.pick(COUNTRIES),
      value: `TEST-${String(random.below(1_000_000)).padStart(6, "0")}`,
    },
  };
}
