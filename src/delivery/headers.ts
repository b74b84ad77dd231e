import { WEBHOOK_TYPES } from "../common/gateway-facts.js";

/** `new_alarm` carries an alarm, `delete_my_data_event` an Online Data event. */
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** Whether the gateway documents this type. */
export function isWebhookType(type: string): type is WebhookType {
  return (WEBHOOK_TYPES as readonly string[]).includes(type);
}

/** A type as metrics name it: of a closed set, because a stranger may send any. */
export type TypeLabel = WebhookType | "other" | "none";

/** `other` for a type that is not documented, `none` for no type. */
export function typeLabel(type: string | undefined): TypeLabel {
  if (type === undefined) return "none";
  return isWebhookType(type) ? type : "other";
}

/** A header of a delivery. */
export interface HeaderRow {
  /** As the gateway writes it. Any letter case is the same header. */
  readonly name: string;
  /** What it must be, for logs and errors. */
  readonly grammar: string;
  readonly fits: (value: unknown) => boolean;
  /** What it holds, for the error about a job without it. */
  readonly meaning: string;
  /**
   * `delivery`: one without it, or with a bad one, is malformed. `secret`: it may be missing, and its grammar counts
   * only after it has matched no secret. `none`: a bad one is left out.
   */
  readonly neededBy: "delivery" | "secret" | "none";
  /** Whether a signature is checked with it. Only a delivery has such a header. */
  readonly ofSignature: boolean;
  /** Whether it may be given several times, which makes one list of all values. */
  readonly isList?: true;
}

export const MAX_TIMESTAMP_LENGTH = 12;
export const MAX_TOKEN_LENGTH = 128;
/** A sender may sign with an old and a new secret, and in more than one way. */
const MAX_SIGNATURES = 8;

const TOKEN = {
  grammar: `1 to ${MAX_TOKEN_LENGTH} characters of [0-9A-Za-z._-]`,
  fits: isDeliveryId,
} as const;

/** The headers of a delivery. A row more is a header more: handlers get it, and jobs carry it, under its key. */
export const HEADERS = {
  id: {
    name: "X-Webhook-Id",
    ...TOKEN,
    meaning: "a delivery id",
    neededBy: "delivery",
    ofSignature: true,
  },
  timestamp: {
    name: "X-Webhook-Timestamp",
    grammar: `1 to ${MAX_TIMESTAMP_LENGTH} digits`,
    fits: isDeliveryTimestamp,
    meaning: "Unix seconds",
    neededBy: "delivery",
    ofSignature: true,
  },
  // Not signed, so it is only a claim until the signed body agrees with it.
  type: {
    name: "X-Webhook-Type",
    grammar: TOKEN.grammar,
    // Comparing takes a third of the time of the search.
    fits: (value: unknown) => isWebhookType(value as string) || isDeliveryId(value),
    meaning: "a webhook type",
    neededBy: "delivery",
    ofSignature: false,
  },
  signature: {
    name: "X-Webhook-Signature",
    grammar: `v1= and 64 hexadecimal digits, or a list of at most ${MAX_SIGNATURES}`,
    fits: isSignature,
    meaning: "a signature",
    neededBy: "secret",
    ofSignature: true,
    isList: true,
  },
} as const satisfies Readonly<Record<string, HeaderRow>>;

/** The place of a header in the table. */
export type HeaderKey = keyof typeof HEADERS;
/** The name of a header, as the gateway writes it. */
export type HeaderName<Key extends HeaderKey = HeaderKey> = (typeof HEADERS)[Key]["name"];

/** The headers of a well-formed delivery. */
export type DeliveryHeaders = {
  readonly [Key in HeaderKey]:
    string | ((typeof HEADERS)[Key]["neededBy"] extends "delivery" ? never : undefined);
} & {
  /** X-Webhook-Timestamp in Unix milliseconds. */
  readonly timestampMs: number;
};

const DIGIT_ZERO = 0x30;
/**
 * No colon: the signed string is joined with colons, so a captured delivery with a colon in its id could
 * be split into other "signed" deliveries. ASCII only, because a backend may use only the low byte of a
 * character.
 */
const NO_TOKEN = /[^0-9A-Za-z._-]/;
const SIGNATURE = /^v1=[0-9A-Fa-f]{64}$/;
/** A signature of any scheme. */
const ANY_SIGNATURE = /^[0-9A-Za-z._-]+=[!-+\--~]*$/;
/** A comma, spaces, or a comma between spaces. */
const SEPARATOR = / *, *| +/;

/** Whether a value can be an X-Webhook-Timestamp. */
export function isDeliveryTimestamp(value: unknown): value is string {
  return typeof value === "string" && !Number.isNaN(readTimestamp(value));
}

/** An X-Webhook-Timestamp (Unix seconds) in milliseconds. NaN for any other text. */
export function readTimestamp(text: string): number {
  if (text === "" || text.length > MAX_TIMESTAMP_LENGTH) return Number.NaN;
  let seconds = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - DIGIT_ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    seconds = seconds * 10 + digit;
  }
  return seconds * 1000;
}

/**
 * Whether a value can be an X-Webhook-Id or X-Webhook-Type. Searches for a forbidden character, which takes half the
 * time of matching the whole text. Checks the type first, because `test` would convert an array of one string.
 */
export function isDeliveryId(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.length <= MAX_TOKEN_LENGTH &&
    !NO_TOKEN.test(value)
  );
}

/** Whether a value can be an X-Webhook-Signature. Its digits may be of any letter case. */
export function isSignature(value: unknown): value is string {
  return typeof value === "string" && signaturesOf(value).length > 0;
}

/**
 * The signatures of an X-Webhook-Signature that this package can check: those of the scheme `v1`. None if the text is not
 * one signature or a list of at most eight.
 */
export function signaturesOf(text: string): readonly string[] {
  if (SIGNATURE.test(text)) return [text];
  // One more than may be there: a long header is not taken apart.
  const all = text.split(SEPARATOR, MAX_SIGNATURES + 1);
  const isRight = all.length <= MAX_SIGNATURES && all.every((one) => ANY_SIGNATURE.test(one));
  return isRight ? all.filter((one) => SIGNATURE.test(one)) : [];
}
