import type { WebhookType } from "../delivery/headers.js";
import { isObject } from "../common/option-checks.js";
import { ManagementError } from "./management-error.js";

/**
 * A webhook as the gateway returns it, whichever format the gateway uses.
 *
 * @experimental
 */
export interface Webhook {
  /** The gateway's id; a number is made a text. */
  readonly id: string;
  /** Human-readable label. Empty if the gateway returns none. */
  readonly title: string;
  /** Where deliveries are sent. */
  readonly url: string;
  /** `new_alarm` or `delete_my_data_event`. */
  readonly type: WebhookType | (string & {});
  /** Whether deliveries are signed. Undefined if the gateway does not say, as for the next three. */
  readonly has_secret: boolean | undefined;
  /** Whether the webhook is called. */
  readonly is_active: boolean | undefined;
  /** Whether any TLS certificate of the URL is accepted. */
  readonly skip_ssl_verification: boolean | undefined;
  /** Whether each attempt is stored. */
  readonly enable_requests_history: boolean | undefined;
  /** The whole record as the gateway sent it, unknown fields included, without a secret. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/**
 * A webhook to create.
 *
 * @experimental
 */
export interface NewWebhook {
  /** Human-readable label. */
  readonly title: string;
  /** An HTTPS URL that is reachable now. The gateway takes each URL once per type. */
  readonly url: string;
  readonly type: WebhookType;
  /** The secret that signs deliveries. Without it they are not signed. `createWebhookSecret` makes one. */
  readonly secret?: string;
  /** Default true. */
  readonly is_active?: boolean | undefined;
  /** Default false. True only for a local endpoint with a certificate of its own. */
  readonly skip_ssl_verification?: boolean | undefined;
  /** Default true. */
  readonly enable_requests_history?: boolean | undefined;
}

/**
 * What to change in a webhook. A field that is left out keeps its value.
 *
 * @experimental
 */
export type WebhookChanges = Partial<NewWebhook>;

/** The fields that a webhook has and a caller sets, without the secret. */
export const WEBHOOK_FIELDS = [
  ...(["title", "url", "type"] as const),
  ...(["is_active", "skip_ssl_verification", "enable_requests_history"] as const),
] as const;

/** The names of `NewWebhook`. */
export const NEW_WEBHOOK_NAMES = [...WEBHOOK_FIELDS, "secret"] as const;

/** Reads a webhook, bare or under `data`. Throws `ManagementError` if it is none; `route` is for its message. */
export function readWebhook(body: unknown, route: string): Webhook {
  const { data } = Object(body) as Record<string, unknown>;
  const record = Object(isObject(data) ? data : body) as Record<string, unknown>;
  const raw = Object.fromEntries(Object.entries(record).filter(([name]) => name !== "secret"));
  const { id, title, url, type } = record;
  const isId = typeof id === "number" || (typeof id === "string" && id !== "");
  if (!isId || typeof url !== "string" || typeof type !== "string") {
    throw new ManagementError(
      "unexpected_answer",
      `${route} returned no webhook: expected an object with id, url and type, bare or under data`,
    );
  }
  return {
    id: String(id),
    title: typeof title === "string" ? title : "",
    url,
    type,
    has_secret: readBoolean(raw["has_secret"]),
    is_active: readBoolean(raw["is_active"]),
    skip_ssl_verification: readBoolean(raw["skip_ssl_verification"]),
    enable_requests_history: readBoolean(raw["enable_requests_history"]),
    raw,
  };
}

const TRUE: readonly unknown[] = [true, 1, "1", "true"];
const FALSE: readonly unknown[] = [false, 0, "0", "false"];

/** A boolean in either format: true and false, 1 and 0, or a text of one of them. Undefined for anything else. */
function readBoolean(value: unknown): boolean | undefined {
  const given = typeof value === "string" ? value.toLowerCase() : value;
  if (TRUE.includes(given)) return true;
  return FALSE.includes(given) ? false : undefined;
}

/** Whether two texts name the same URL, however they spell it. */
export function isSameUrl(one: string, other: string): boolean {
  return normalized(one) === normalized(other);
}

/** The webhooks of these types at the URL. */
export function webhooksAt(
  url: string,
  types: readonly string[],
  listed: readonly Webhook[],
): readonly Webhook[] {
  return listed.filter((one) => types.includes(one.type) && isSameUrl(one.url, url));
}

function normalized(text: string): string {
  return URL.canParse(text) ? new URL(text).href : text;
}
