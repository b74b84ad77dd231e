import { ownOptions } from "../common/option-checks.js";
import type { GatewayCalls } from "./gateway-calls.js";
import { advised, isInDoubt, ManagementError, type ErrorDetail } from "./management-error.js";
import {
  isSameUrl,
  NEW_WEBHOOK_NAMES,
  readWebhook,
  WEBHOOK_FIELDS,
  type Webhook,
  type WebhookChanges,
} from "./webhook.js";

/**
 * Options of `webhooks.update`.
 *
 * @experimental
 */
export interface UpdateOptions {
  /**
   * Sends the update without the secret, although the webhook has one. The gateway does not document whether it then
   * keeps the secret: if it does not, the update fails with `update_not_applied`, and the webhook is unsigned. Default
   * false.
   */
  readonly withoutSecret?: boolean | undefined;
  /** Ends the calls when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

const IN_DOUBT =
  "the gateway may have the new secret: keep both secrets at the receivers, and start again";

/** Reads one webhook. */
export async function getWebhook(
  calls: GatewayCalls,
  path: string,
  signal: AbortSignal | undefined,
): Promise<Webhook> {
  return readWebhook(await calls.call({ method: "GET", path, signal }), `GET ${path}`);
}

/**
 * Updates a webhook by a PUT of the whole record, and reads it again. The gateway never returns the secret, so a
 * webhook with a secret is updated only if `changes` has it.
 */
export async function updateWebhook(
  calls: GatewayCalls,
  path: string,
  changes: WebhookChanges,
  options: UpdateOptions,
): Promise<Webhook> {
  const own = ownOptions("webhooks.update", changes, NEW_WEBHOOK_NAMES);
  const { withoutSecret = false, signal } = ownOptions("webhooks.update", options, [
    "withoutSecret",
    "signal",
  ]);
  const before = await getWebhook(calls, path, signal);
  // Also if the gateway does not say whether there is one.
  const mayHaveSecret = before.has_secret !== false;
  if (own.secret === undefined && mayHaveSecret && !withoutSecret) {
    throw new ManagementError(
      "secret_required",
      `webhook ${before.id} has a secret, and an update without it could remove it: pass the secret, or withoutSecret`,
    );
  }
  const wanted = { ...fieldsOf(before), ...definedOf(own) };
  const body = { ...writableOf(before.raw), ...wanted };
  const secrets = own.secret === undefined ? undefined : [own.secret];
  let after: Webhook;
  let isSent = false;
  try {
    await calls.call({ method: "PUT", path, body, secrets, signal });
    isSent = true;
    after = await getWebhook(calls, path, signal);
  } catch (error) {
    const mayHaveIt = error instanceof ManagementError && (isSent || isInDoubt(error));
    throw own.secret !== undefined && mayHaveIt ? advised(error, IN_DOUBT) : error;
  }
  const wantsSecret = own.secret !== undefined || before.has_secret === true;
  const differences = [
    ...WEBHOOK_FIELDS.flatMap((field) => differenceOf(field, wanted[field], after[field])),
    ...(wantsSecret ? differenceOf("has_secret", true, after.has_secret) : []),
  ];
  if (differences.length === 0) return after;
  const named = differences.map(({ field, issue }) => `${field} ${issue}`).join(", ");
  throw new ManagementError(
    "update_not_applied",
    `webhook ${after.id} is not as it was sent: ${named}`,
    {
      details: differences,
    },
  );
}

function fieldsOf(webhook: Webhook): Partial<Record<(typeof WEBHOOK_FIELDS)[number], unknown>> {
  return definedOf(Object.fromEntries(WEBHOOK_FIELDS.map((field) => [field, webhook[field]])));
}

/** What the gateway may take back. Fields that are its own are left out: the id, has_secret and dates. */
function writableOf(raw: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(raw).filter(
    ([name]) => name !== "id" && name !== "has_secret" && !name.endsWith("_at"),
  );
  return Object.fromEntries(entries);
}

/** Without the fields that are undefined. */
export function definedOf<Fields extends object>(fields: Fields): Partial<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Fields>;
}

/** Undefined is no difference: a gateway may leave out a field. */
function differenceOf(field: string, wanted: unknown, found: unknown): readonly ErrorDetail[] {
  if (found === undefined || wanted === undefined || wanted === found) return [];
  // The gateway may spell the URL in another way.
  const areTexts = typeof wanted === "string" && typeof found === "string";
  if (field === "url" && areTexts && isSameUrl(wanted, found)) return [];
  const issue =
    typeof found === "boolean" ? `is ${String(found)}` : "has another value than was sent";
  return [{ field, issue }];
}
