import type { AlarmSeverity, BureauSource } from "../../src/records/alarm.js";
import type { SampleAlarmKind } from "./sample-breach-kinds.js";

interface BureauRow extends Pick<SampleAlarmKind, "category_id" | "describe"> {
  readonly source: BureauSource;
  readonly severity: AlarmSeverity;
}

const ORG_NUMBER = "000000-0000";

const ROWS: readonly BureauRow[] = [
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

/**
 * The alarms of the bureaus (the gateway's document, section "Alarm"): `source` and `event_type` have the same value.
 */
export const BUREAU_KINDS: readonly SampleAlarmKind[] = ROWS.map((row) => ({
  ...row,
  event_type: row.source,
}));
