import type {
  AlarmEventType,
  AlarmSeverity,
  AlarmSource,
  BureauSource,
} from "../../src/records/alarm.js";
import type { Random } from "../random.js";
import type { SampleSubject } from "./sample-subject.js";

/** Content of the samples of one `event_type`. */
export interface SampleAlarmKind {
  readonly event_type: AlarmEventType;
  readonly source: AlarmSource;
  /** From 1 to 7. */
  readonly category_id: number;
  readonly severity: AlarmSeverity;
  /** Makes text and payload. `payload` becomes the alarm's JSON text; its shape depends on vendor and type. */
  readonly describe: (
    subject: SampleSubject,
    random: Random,
  ) => { readonly text: string; readonly payload: object };
}

interface BreachRow extends Pick<SampleAlarmKind, "event_type" | "category_id" | "severity"> {
  /** Start of the text: what was found of the watchlist. */
  readonly what: (subject: SampleSubject) => string;
  /** The match in the payload. */
  readonly matched: (subject: SampleSubject, random: Random) => object;
  readonly exposed: readonly string[];
}

const SITES = ["Example Shop", "Example Clinic", "Example Travel", "Example Forum"];

const BREACH_ROWS: readonly BreachRow[] = [
  {
    event_type: "email_hacked",
    category_id: 3,
    severity: "High",
    what: ({ email }) => email,
    matched: ({ email }) => ({ type: "email", value: email }),
    exposed: ["email", "name", "password_hash"],
  },
  {
    event_type: "phone_hacked",
    category_id: 3,
    severity: "Medium",
    what: ({ phone }) => phone,
    matched: ({ phone }) => ({ type: "phone", value: phone }),
    exposed: ["phone", "postal_address"],
  },
  {
    event_type: "ssn_hacked",
    category_id: 1,
    severity: "High",
    what: ({ nationalId }) => `A national id of ${nationalId.country}`,
    matched: ({ nationalId }) => ({ type: "ssn", ...nationalId }),
    exposed: ["ssn", "name", "date_of_birth"],
  },
  {
    event_type: "iban_hacked",
    category_id: 2,
    severity: "High",
    what: ({ iban }) => `An account number beginning with ${iban.slice(0, 4)}`,
    matched: ({ iban, name }) => ({ type: "iban", value: iban, holder: name }),
    exposed: ["iban", "bic", "name"],
  },
  {
    event_type: "credit_card_hacked",
    category_id: 4,
    severity: "High",
    what: ({ card }) => `A card ending in ${card.slice(-4)}`,
    matched: ({ card }) => ({ type: "credit_card", value: card, expires: "12/34" }),
    exposed: ["credit_card", "cvv"],
  },
  {
    event_type: "passport_hacked",
    category_id: 6,
    severity: "High",
    what: ({ passport }) => `A passport ending in ${passport.value.slice(-4)}`,
    matched: ({ passport }) => ({ type: "passport", ...passport }),
    exposed: ["passport", "name", "nationality"],
  },
  {
    event_type: "drivers_license_hacked",
    category_id: 7,
    severity: "Medium",
    what: () => "A driver's license",
    matched: ({ driversLicense }) => ({ type: "drivers_license", ...driversLicense }),
    exposed: ["drivers_license", "name"],
  },
  {
    event_type: "domain_hacked",
    category_id: 3,
    severity: "Low",
    what: () => "An address at example.org",
    matched: (_, random) => ({
      type: "domain",
      value: "example.org",
      addresses: 1 + random.below(40),
    }),
    exposed: ["email", "username"],
  },
];

/** The alarms of the breach database, one kind per `event_type`. */
export const BREACH_KINDS: readonly SampleAlarmKind[] = BREACH_ROWS.map(
  ({ event_type, category_id, severity, what, matched, exposed }) => ({
    event_type,
    source: "BreachDb",
    category_id,
    severity,
    describe: (subject, random) => {
      const site = random.pick(SITES);
      const day = String(1 + random.below(28)).padStart(2, "0");
      const breach = {
        name: site,
        breached_at: `2026-05-${day}`,
        published_at: `2026-06-${day}`,
      };
      return {
        text: `${what(subject)} was found in the ${site} breach`,
        payload: { breach, matched: matched(subject, random), exposed },
      };
    },
  }),
);

const ORG_NUMBER = "000000-0000";

const BUREAU_ROWS: readonly (Omit<SampleAlarmKind, "event_type"> & {
  readonly source: BureauSource;
})[] = [
  {
    source: "BureauIdentity",
    category_id: 1,
    severity: "Medium",
    describe: ({ name, nationalId }, random) => ({
      text: "The registered address was changed",
      payload: {
        alert: "ADDRESS_CHANGED",
        subject: { national_id: nationalId.value, name },
        before: { street: "Exempelgatan 1", postal_code: "000 00", city: "Exempelstad" },
        after: {
          street: `Testvägen ${String(1 + random.below(99))}`,
          postal_code: "000 01",
          city: "Teststad",
        },
      },
    }),
  },
  {
    source: "BureauCreditA",
    category_id: 2,
    severity: "High",
    describe: ({ nationalId }, random) => ({
      text: "A payment default was registered",
      payload: {
        alert: "PAYMENT_DEFAULT",
        subject: { national_id: nationalId.value },
        amount: { value: `${String(100 + random.below(9_900))}.00`, currency: "SEK" },
      },
    }),
  },
  {
    source: "BureauCreditAConnect",
    category_id: 5,
    severity: "Medium",
    describe: ({ name }) => ({
      text: "The board of Example AB was changed",
      payload: {
        alert: "BOARD_CHANGED",
        company: { org_number: ORG_NUMBER, name: "Example AB" },
        added: [name],
        removed: ["Tolvan Exempel"],
      },
    }),
  },
  {
    source: "BureauCreditAEnquiry",
    category_id: 2,
    severity: "Info",
    describe: ({ nationalId }, random) => ({
      text: "Example Bank asked for a credit report",
      payload: {
        enquirer: { name: "Example Bank", org_number: ORG_NUMBER },
        subject: { national_id: nationalId.value },
        reference: `enquiry-${String(random.below(1_000_000))}`,
      },
    }),
  },
  {
    source: "BureauCreditB",
    category_id: 2,
    severity: "Low",
    describe: ({ nationalId }, random) => ({
      text: "Luottotiedoissa on uusi merkintä",
      payload: {
        alert: "NEW_ENTRY",
        subject: { national_id: nationalId.value },
        entries: 1 + random.below(3),
      },
    }),
  },
];

/** The alarms of the bureaus: `source` and `event_type` have the same value. */
export const BUREAU_KINDS: readonly SampleAlarmKind[] = BUREAU_ROWS.map((row) => ({
  ...row,
  event_type: row.source,
}));
