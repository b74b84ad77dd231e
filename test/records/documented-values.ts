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

/** The types of Online Data events. */
export const EVENT_TYPES = [
  "DELETION_REQUEST_SENT",
  "USER_MANUAL_INSTRUCTIONS_SENT",
  "DATA_DELETED",
  "DATA_REAPPEARED",
  "PERSONAL_DATA_FOUND",
  "PERSONAL_DATA_NOT_FOUND",
  "POWER_OF_ATTORNEY_SIGNED",
];
