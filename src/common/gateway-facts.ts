// What the gateway's document says of the sender, once, with its section. Everything else reads it here.

/** Section "Events": the webhook types. */
export const WEBHOOK_TYPES = ["new_alarm", "delete_my_data_event"] as const;

/** Section "Events", rule 2: after these statuses the gateway sends the delivery again. */
export const RETRYABLE_STATUSES: readonly number[] = [408, 409, 429, 500, 502, 503, 504];
/** Section "Events", rule 2: after these it gives the delivery up for good. */
export const FINAL_STATUSES: readonly number[] = [400, 401, 403, 404, 422];

/**
 * Section "Events", rule 3: when a delivery is sent again. The document names no factor: with this one the gaps begin at
 * 10 seconds and the ninth and last is just under 4 hours.
 */
export const RETRIES = {
  attempts: 10,
  firstDelayMs: 10_000,
  maxDelayMs: 14_400_000,
  factor: 2.48,
} as const;
/** The longest time from the first attempt to the last that the document allows: 36 hours. */
export const LONGEST_RETRIES_MS = (RETRIES.attempts - 1) * RETRIES.maxDelayMs;

/** Section "Versioning", rule 7: the gateway sends webhooks since that day. */
export const WEBHOOKS_SINCE_MS = Date.UTC(2026, 6, 8);

interface Field {
  /** What it holds. A time is a text with a date, and JSON a text with a document. */
  readonly kind: "integer" | "text" | "time" | "json";
  /** The documented values. The gateway may add some. */
  readonly values?: readonly (string | number)[];
  /** Of an event: set on the types with a site, null on the others. */
  readonly ofSite?: true;
}
/** A table of fields by their names. */
export type Fields = Readonly<Record<string, Field>>;

const BUREAUS = [
  "BureauIdentity",
  "BureauCreditA",
  "BureauCreditAConnect",
  "BureauCreditAEnquiry",
  "BureauCreditB",
] as const;

/** Section "Alarm": the watchlist item of each event type of the breach database. */
export const BREACHES = {
  email_hacked: "Email address",
  phone_hacked: "Phone number",
  ssn_hacked: "National ID / SSN",
  iban_hacked: "IBAN",
  credit_card_hacked: "Credit card",
  passport_hacked: "Passport",
  drivers_license_hacked: "Driver's license",
  // For legacy clients only.
  domain_hacked: "Domain",
} as const;
const BREACH_TYPES = Object.keys(BREACHES) as readonly (keyof typeof BREACHES)[];

/** Section "Alarm": the categories, by `category_id`. */
export const CATEGORIES = {
  1: "identity",
  2: "financial",
  3: "darkweb",
  4: "credit-card",
  5: "company-identity",
  6: "passport",
  7: "drivers-license",
} as const;

/** Section "Alarm": the fields of an alarm, in order. */
export const ALARM = {
  id: { kind: "integer" },
  text: { kind: "text" },
  account_id: { kind: "integer" },
  severity: { kind: "text", values: ["Low", "Medium", "High", "Info"] },
  status: { kind: "text", values: ["NEW", "CLOSED"] },
  source: { kind: "text", values: ["BreachDb", ...BUREAUS] },
  event_type: { kind: "text", values: [...BREACH_TYPES, ...BUREAUS] },
  category_id: { kind: "integer", values: Object.keys(CATEGORIES).map(Number) },
  original_event_id: { kind: "text" },
  payload: { kind: "json" },
  date: { kind: "time" },
  checked_at: { kind: "time" },
  created_at: { kind: "time" },
  updated_at: { kind: "time" },
} as const satisfies Fields;

interface EventType {
  readonly severity: string;
  readonly hasSite: boolean;
  /** Section "Removal request status": what the removal request becomes. */
  readonly removal?: string;
}

/** Section "delete_my_data_event": the types of an event, in order. */
export const EVENT_TYPES = {
  DELETION_REQUEST_SENT: { severity: "SUCCESS", hasSite: true, removal: "POA_SENT_TO_SITE" },
  USER_MANUAL_INSTRUCTIONS_SENT: {
    severity: "INFO",
    hasSite: true,
    removal: "USER_MANUAL_INSTRUCTIONS_SENT",
  },
  DATA_DELETED: { severity: "SUCCESS", hasSite: true, removal: "DATA_REMOVED_VERIFIED" },
  DATA_REAPPEARED: { severity: "WARNING", hasSite: true, removal: "DATA_REAPPEARED_DETECTED" },
  PERSONAL_DATA_FOUND: { severity: "WARNING", hasSite: true },
  PERSONAL_DATA_NOT_FOUND: { severity: "SUCCESS", hasSite: true },
  POWER_OF_ATTORNEY_SIGNED: { severity: "SUCCESS", hasSite: false },
} as const satisfies Readonly<Record<string, EventType>>;

const TYPE_NAMES = Object.keys(EVENT_TYPES) as readonly (keyof typeof EVENT_TYPES)[];

/** Section "Online Data event": the fields of an event, in order. */
export const EVENT = {
  type: { kind: "text", values: TYPE_NAMES },
  severity: { kind: "text", values: ["INFO", "SUCCESS", "WARNING"] },
  account_id: { kind: "integer" },
  client_id: { kind: "text" },
  site_id: { kind: "integer", ofSite: true },
  site_name: { kind: "text", ofSite: true },
  site_base_url: { kind: "text", ofSite: true },
  occurred_at: { kind: "time" },
} as const satisfies Fields;
