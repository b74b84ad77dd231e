import { ownOptions } from "../common/option-checks.js";
import type { WebhookType } from "../delivery/headers.js";
import type { AttemptReader } from "./attempt-reader.js";
import { readAttempts, refusedAttempts, type AttemptHistory } from "./attempted-deliveries.js";
import type { ManagementClient } from "./management-client.js";
import { finding, type WebhookFinding } from "./webhook-findings.js";
import { ManagementError } from "./management-error.js";
import {
  createWebhookSecret,
  PROBE_OPTION_NAMES,
  probeReceiver,
  statusOfGet,
  type ProbeOptions,
} from "./probe-receiver.js";
import { typesOption } from "./prove-secret.js";
import { isSameUrl, webhooksAt, type Webhook } from "./webhook.js";

/**
 * Options of `checkWebhooks`.
 *
 * @experimental
 */
export interface CheckOptions extends ProbeOptions {
  /** The receiver's URL. */
  readonly url: string;
  /** The webhook types that the receiver handles. Default both. */
  readonly types?: readonly WebhookType[] | undefined;
  /** The secret in use, or that of each type. Without it only a GET is sent, and who answers it is not known. */
  readonly secret?: string | Readonly<Partial<Record<WebhookType, string>>> | undefined;
  /** Reads the stored attempts, so that `deliveries_refused` can be found. Default none: they are not read. */
  readonly readAttempt?: AttemptReader | undefined;
}

/**
 * The result of a check.
 *
 * @experimental
 */
export interface WebhookCheck {
  /** What is wrong. Empty if everything is as it should be. */
  readonly findings: readonly WebhookFinding[];
  /** The webhooks that the gateway listed. Empty if it did not. */
  readonly webhooks: readonly Webhook[];
  /** What the history of each webhook at the URL shows. Empty without `readAttempt`. */
  readonly histories: readonly AttemptHistory[];
}

/**
 * Checks that deliveries can arrive: that each type has exactly one active webhook, at the receiver's URL, with a
 * secret, TLS verified and history on, and that the receiver answers there and accepts the secret. It changes nothing.
 *
 * Rejects with a `ManagementError` if the gateway cannot be asked, and with a `ConfigurationError` for an invalid
 * option.
 *
 * @experimental
 */
export async function checkWebhooks(
  client: ManagementClient,
  options: CheckOptions,
): Promise<WebhookCheck> {
  const names = ["url", "types", "secret", "readAttempt", ...PROBE_OPTION_NAMES];
  const own = ownOptions("checkWebhooks", options, names);
  const { url, signal, readAttempt, now = Date.now } = own;
  const types = typesOption(own.types);
  const [known, ofReceiver] = await Promise.all([
    client.webhooks.list({ signal }).catch(undefinedIfOff),
    findingsOfReceiver(own, types),
  ]);
  const listed = known ?? [];
  const unwanted = listed
    .filter((one) => isSameUrl(one.url, url) && !types.some((type) => type === one.type))
    .map((one) => finding("unexpected_type", one));
  const ofTypes =
    known === undefined
      ? [finding("webhooks_not_available")]
      : types.flatMap((type) => findingsOfType(type, url, known));
  const histories: AttemptHistory[] = [];
  const refused: WebhookFinding[] = [];
  for (const webhook of webhooksAt(url, types, listed)) {
    if (readAttempt === undefined || webhook.enable_requests_history === false) continue;
    const records = await client.attempts.list(webhook.id, { signal });
    const nowMs = now();
    const { attempts, history } = readAttempts(webhook, records, readAttempt, nowMs);
    histories.push(history);
    const [first] = refusedAttempts(attempts);
    // What was refused longer ago may be repaired: no delivery has come that could show it.
    if (first === undefined || nowMs - Number(history.latestAt) > DAY_MS) continue;
    const facts = { status: history.latestStatus, since: first.at };
    refused.push(finding("deliveries_refused", webhook, facts));
  }
  const findings = [...ofTypes, ...unwanted, ...refused, ...ofReceiver];
  return { findings, webhooks: listed, histories };
}

const DAY_MS = 86_400_000;

/** Undefined if the gateway has no webhooks for this client. */
function undefinedIfOff(error: unknown): undefined {
  const code = error instanceof ManagementError ? error.code : undefined;
  if (code !== "forbidden" && code !== "not_found") throw error;
}

/** What is wrong with the webhooks of a type, of all that the gateway lists. */
export function findingsOfType(
  type: WebhookType,
  url: string,
  listed: readonly Webhook[],
): readonly WebhookFinding[] {
  const ofType = listed.filter((one) => one.type === type);
  const ours = webhooksAt(url, [type], listed);
  const others = ofType.filter((one) => !ours.includes(one) && isActive(one));
  const [inUse, ...more] = ours.filter(isActive);
  const elsewhere = inUse === undefined ? "other_url" : "second_webhook";
  const isMissing = ours.length === 0 && others.length === 0;
  return [
    ...(isMissing ? [finding("missing_webhook", { type })] : []),
    ...ours.flatMap(findingsOfWebhook),
    ...others.map((one) => finding(elsewhere, one)),
    ...more.map((one) => finding("second_webhook", one)),
  ];
}

/** Whether the gateway calls it. A gateway that does not say so probably does. */
function isActive({ is_active }: Webhook): boolean {
  return is_active !== false;
}

/** A field that the gateway leaves out, or writes in an unknown way, is a finding too. */
function findingsOfWebhook(webhook: Webhook): readonly WebhookFinding[] {
  const { is_active, has_secret, skip_ssl_verification, enable_requests_history } = webhook;
  return [
    ...(is_active === true ? [] : [finding("inactive", webhook)]),
    ...(has_secret === true ? [] : [finding("no_secret", webhook)]),
    ...(skip_ssl_verification === false ? [] : [finding("tls_not_verified", webhook)]),
    ...(enable_requests_history === true ? [] : [finding("history_off", webhook)]),
  ];
}

async function findingsOfReceiver(
  options: CheckOptions,
  types: readonly WebhookType[],
): Promise<readonly WebhookFinding[]> {
  const { url, secret } = options;
  const status = await statusOfGet(url, options);
  if (status === undefined) return [finding("receiver_unreachable")];
  const refusesGet =
    status < 200 || status > 299 ? [finding("receiver_refuses_get", {}, { status })] : [];
  if (secret === undefined) return refusesGet;
  // One, and before the others: the receiver counts it as a mismatch, and an accepted probe ends a run of those.
  const [first = "new_alarm"] = types;
  const control = await probeReceiver(url, { secret: createWebhookSecret(), type: first }, options);
  if (control.result === "accepted") return [...refusesGet, finding("accepts_any_secret")];
  if (control.result !== "refused") {
    return [...refusesGet, finding("receiver_unclear", {}, { status: control.status })];
  }
  const ofTypes = await Promise.all(
    types.map(async (type) => {
      const own = typeof secret === "string" ? secret : (secret[type] ?? "");
      const answer = await probeReceiver(url, { secret: own, type }, options);
      if (answer.result === "accepted") return [];
      const code = answer.result === "refused" ? "other_secret" : "receiver_unclear";
      return [finding(code, { type }, { status: answer.status })];
    }),
  );
  return [...refusesGet, ...ofTypes.flat()];
}
