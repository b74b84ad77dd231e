import { checkOption } from "../option-checks.js";
import { ownOptions } from "../../src/common/option-checks.js";
import type { CommonTwinOptions } from "../twin/twin-options.js";
import { checkTwinOptions, COMMON_TWIN_OPTIONS } from "../twin/twin-settings.js";

/**
 * One stored attempt of a webhook with history. The body may be personal data if you deliver real records.
 *
 * @experimental
 */
export interface StoredAttempt {
  /** Counts from 1. */
  readonly id: number;
  readonly webhookId: string;
  /** X-Webhook-Id. */
  readonly deliveryId: string;
  /** When the request was sent. */
  readonly at: Date;
  /** HTTP status of the answer. Undefined when none arrived. */
  readonly status: number | undefined;
  /** Why no answer arrived. */
  readonly error: string | undefined;
  /** The body that was sent. */
  readonly body: string;
}

/**
 * Options of `createGatewayApi`: those of the twin that delivers, and switches for what the document leaves open.
 *
 * @experimental
 */
export interface GatewayApiOptions extends CommonTwinOptions {
  /** Whether a login is accepted. Gets the body of the request. Default: every login is. */
  readonly login?: ((body: Readonly<Record<string, unknown>>) => boolean) | undefined;
  /** `is_crm_webhooks_enabled` of the client. With false the webhook routes answer 403. Default true. */
  readonly webhooksEnabled?: boolean | undefined;
  /** Whether a PUT without the secret removes the secret. The document does not say. Default false. */
  readonly putDropsSecret?: boolean | undefined;
  /** Whether a PUT replaces the record: fields that it leaves out are missing. The document does not say. Default false. */
  readonly putReplaces?: boolean | undefined;
  /** Whether throttling names a delay in `Retry-After`. The document does not say. Default true. */
  readonly retryAfter?: boolean | undefined;
  /** How a URL that another webhook of the type has is refused. The document does not say. Default 422. */
  readonly takenUrlStatus?: 409 | 422 | undefined;
  /** Booleans of the legacy format: 1 and 0, or "1" and "0". The document allows both. Default `"numbers"`. */
  readonly legacyBooleans?: "numbers" | "strings" | undefined;
  /** Whether throttling is answered 409 to every client, as to those without `X-API-Version`. Default false. */
  readonly legacyThrottling?: boolean | undefined;
  /** Whether attempts are stored for webhooks with `enable_requests_history`. Default true. */
  readonly history?: boolean | undefined;
  /** How a URL is checked when a webhook is created or moved. Default `"GET"`; false checks nothing. */
  readonly urlCheck?: "GET" | "HEAD" | false | undefined;
  /** Whether lists are bare or under `data`. The document does not say. Default `"data"`. */
  readonly lists?: "data" | "bare" | undefined;
  /** Makes the record of an attempt, whose fields the document does not show. Default: fields of our own. */
  readonly attemptRecord?: ((attempt: StoredAttempt) => unknown) | undefined;
  /** Makes the alarm or event of a list, whose fields the document does not show. Default: the fields of the delivery. */
  readonly listedRecord?: ((record: unknown) => unknown) | undefined;
}

/** The options that are true or false, with their defaults. */
const SWITCHES = {
  webhooksEnabled: true,
  putDropsSecret: false,
  putReplaces: false,
  retryAfter: true,
  legacyThrottling: false,
  history: true,
};
/** The options that are one of some values, the default first. */
const CHOICES = {
  urlCheck: ["GET", "HEAD", false],
  lists: ["data", "bare"],
  takenUrlStatus: [422, 409],
  legacyBooleans: ["numbers", "strings"],
} as const;

/**
 * Checks the options and adds the defaults.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function checkApiOptions(given: GatewayApiOptions) {
  const own = [
    "login",
    "attemptRecord",
    "listedRecord",
    ...Object.keys(SWITCHES),
    ...Object.keys(CHOICES),
  ];
  const options = ownOptions("createGatewayApi", given, [...COMMON_TWIN_OPTIONS, ...own]);
  const { login = () => true, attemptRecord, listedRecord } = options;
  const { urlCheck = "GET", lists = "data" } = options;
  const { takenUrlStatus = 422, legacyBooleans = "numbers" } = options;
  const choices = { urlCheck, lists, takenUrlStatus, legacyBooleans };
  for (const [name, values] of Object.entries(CHOICES)) {
    const isKnown = (values as readonly unknown[]).includes(choices[name as keyof typeof choices]);
    checkOption(
      isKnown,
      `${name} must be one of ${values.map((one) => JSON.stringify(one)).join(", ")}`,
    );
  }
  const switches = { ...SWITCHES };
  for (const name of Object.keys(SWITCHES) as (keyof typeof SWITCHES)[]) {
    const value = options[name] ?? SWITCHES[name];
    checkOption(typeof value === "boolean", `${name} must be a boolean`);
    switches[name] = value;
  }
  const twin = Object.fromEntries(
    Object.entries(options).filter(([name]) => COMMON_TWIN_OPTIONS.includes(name)),
  );
  return {
    ...switches,
    ...choices,
    login,
    attemptRecord,
    listedRecord,
    twin: checkTwinOptions({ ...(twin as CommonTwinOptions), webhooks: [] }),
  };
}

/** The options, checked and with their defaults. */
export type ApiSettings = ReturnType<typeof checkApiOptions>;
