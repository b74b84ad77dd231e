// Written out from the gateway's document, so that the tests do not take them from the code.

/** What may be hacked: the `event_type` of an alarm is one of these and `_hacked`. */
export const HACKED_ITEMS = [
  "email",
  "phone",
  "ssn",
  "iban",
  "credit_card",
  "passport",
  "drivers_license",
  "domain",
];

/** The credit bureaus, as `source` and as `event_type` of an alarm. */
export const BUREAUS = [
  "BureauIdentity",
  "BureauCreditA",
  "BureauCreditAConnect",
  "BureauCreditAEnquiry",
  "BureauCreditB",
];

/** The types of Online Data events, each with its severity. */
export const DOCUMENTED_EVENTS = [
  ["DELETION_REQUEST_SENT", "SUCCESS"],
  ["USER_MANUAL_INSTRUCTIONS_SENT", "INFO"],
  ["DATA_DELETED", "SUCCESS"],
  ["DATA_REAPPEARED", "WARNING"],
  ["PERSONAL_DATA_FOUND", "WARNING"],
  ["PERSONAL_DATA_NOT_FOUND", "SUCCESS"],
  ["POWER_OF_ATTORNEY_SIGNED", "SUCCESS"],
] as const;

export const EVENT_TYPES: readonly string[] = DOCUMENTED_EVENTS.map(([type]) => type);
