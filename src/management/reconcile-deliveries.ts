import { INTEGER_OPTIONS } from "../options/options.js";
import { invalidOption } from "../common/errors.js";
import { ownOptions } from "../common/option-checks.js";
import type { MaybePromise } from "../common/promises.js";
import type { WebhookResponse } from "../answer/answer.js";
import type { WebhookOutcome } from "../answer/outcome.js";
import type { RecoverableDelivery } from "../delivery/recovered-delivery.js";
import type { AttemptReader } from "./attempt-reader.js";
import type { ManagementClient } from "./management-client.js";
import { attemptedDeliveries, readAttempts, type AttemptHistory } from "./attempted-deliveries.js";
import { internalsOf, type WebhookReceiver } from "../options/webhook-receiver.js";
import { ManagementError, type ManagementErrorCode } from "./management-error.js";
import type { MissingDelivery, ReconcileReport } from "./reconcile-report.js";
import { isUnhandled } from "./recover-delivery.js";
import { isSameUrl } from "./webhook.js";

/**
 * Options of `reconcileDeliveries`.
 *
 * @experimental
 */
export interface ReconcileOptions {
  /** The receiver's URL: its webhooks are compared. Default all webhooks with history. */
  readonly url?: string | undefined;
  /** Deliveries whose last attempt is older are left out. Not in the future. */
  readonly since: Date;
  /** Reads the stored attempts. */
  readonly readAttempt: AttemptReader;
  /**
   * Whether your store knows a delivery as handled. With it, deliveries that were answered 2xx are checked too: a proxy
   * may have answered in your place. Without it they are not, and each failed delivery is listed, unless `recover` finds
   * it in the store.
   */
  readonly isCompleted?: ((deliveryId: string) => MaybePromise<boolean>) | undefined;
  /** When the list behind `isCompleted` was made: what was answered 2xx later is not compared. Default just now. */
  readonly completedAt?: Date | undefined;
  /**
   * Your receiver. Ids that its store never holds (`unhandled`), or has forgotten (`retentionMs`), are not compared.
   * Default none: a store that remembers for 7 days.
   */
  readonly receiver?: WebhookReceiver | undefined;
  /**
   * Handles the deliveries whose body is stored: `(delivery) => recoverDelivery(receiver, delivery)`. Default none, nothing is handled. A delivery that the
   * gateway may still send is left to it. The receiver needs the durable store that it has in production, and `since` must
   * be no further back than its `retentionMs` less 36 hours: what the store does not know as handled is handled again. It
   * may have been handled at the first attempt, up to 36 hours before the last.
   */
  readonly recover?: ((delivery: RecoverableDelivery) => Promise<WebhookResponse>) | undefined;
  /** Unix time in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Ends the work when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

const OPTION_NAMES = [
  "url",
  "since",
  "readAttempt",
  "isCompleted",
  "completedAt",
  "receiver",
  "recover",
  "now",
  "signal",
];
/** After these outcomes of `recover` nothing is missing. `unhandled` is none: no handler has run. */
const DONE: readonly WebhookOutcome[] = ["handled", "discarded"];
/** After these no further call can succeed. Any other failure concerns one attempt. */
const FATAL: readonly ManagementErrorCode[] = ["aborted", "no_token", "unauthorized", "network"];

/**
 * Finds the deliveries that the gateway gave up, still tries, or got a 2xx for, and the store does not know as handled;
 * with `recover` it handles those that do not come again. It can be repeated: what was recovered is found as completed.
 *
 * Rejects with a `ManagementError`, `not_found` if no webhook has the URL, with a `ConfigurationError` for an invalid
 * option, and with what `isCompleted` throws.
 *
 * @experimental
 */
export async function reconcileDeliveries(
  client: ManagementClient,
  options: ReconcileOptions,
): Promise<ReconcileReport> {
  const own = ownOptions("reconcileDeliveries", options, OPTION_NAMES);
  const { url, since, readAttempt, recover, isCompleted, now = Date.now, signal } = own;
  const internals = own.receiver && internalsOf(own.receiver);
  const rememberedMs = internals?.retentionMs ?? INTEGER_OPTIONS.retentionMs.fallback;
  if (!(since instanceof Date) || Number.isNaN(since.getTime())) {
    throw invalidOption("since must be a Date");
  }
  if (since.getTime() > now()) {
    throw invalidOption("since must not be in the future");
  }
  if (typeof readAttempt !== "function") {
    throw invalidOption("readAttempt must be a function");
  }
  const listed = await client.webhooks.list({ signal });
  const webhooks = listed.filter((one) => url === undefined || isSameUrl(one.url, url));
  if (webhooks.length === 0 && url !== undefined) {
    throw new ManagementError("not_found", "no webhook is registered for the URL");
  }
  const withoutHistory = webhooks.filter((one) => one.enable_requests_history === false);
  const missing: MissingDelivery[] = [];
  const recovered: MissingDelivery[] = [];
  const histories: AttemptHistory[] = [];
  let [completed, unreadBodies] = [0, 0];
  const acknowledged = { compared: 0, unhandled: 0, forgotten: 0, later: 0 };
  const storedBody = async (webhookId: string, attemptId: string): Promise<string | undefined> => {
    try {
      const attempt = readAttempt(await client.attempts.get(webhookId, attemptId, { signal }));
      if (attempt !== undefined) return attempt.body;
    } catch (error) {
      if (error instanceof ManagementError && FATAL.includes(error.code)) throw error;
    }
    unreadBodies += 1;
    return undefined;
  };

  for (const webhook of webhooks) {
    if (withoutHistory.includes(webhook)) continue;
    const records = await client.attempts.list(webhook.id, { signal });
    const nowMs = now();
    const { attempts, history } = readAttempts(webhook, records, readAttempt, nowMs);
    histories.push(history);
    const deliveries = attemptedDeliveries(webhook, attempts, { since, nowMs });
    for (const { attemptId, body: listedBody, firstAt, ...delivery } of deliveries) {
      if (signal?.aborted === true) throw new ManagementError("aborted", "reconcile was aborted");
      const { deliveryId: id, type, isGivenUp, isAcknowledged, lastAt } = delivery;
      if (isAcknowledged) {
        const isLater = own.completedAt !== undefined && lastAt >= own.completedAt;
        const isForgotten = now() - firstAt.getTime() >= rememberedMs;
        if (isCompleted === undefined) continue;
        acknowledged[isForgotten ? "forgotten" : isLater ? "later" : "compared"] += 1;
        if (isForgotten || isLater) continue;
      }
      if ((await isCompleted?.(id)) === true) {
        if (!isAcknowledged) completed += 1;
        continue;
      }
      const wantsBody = recover !== undefined || (isAcknowledged && internals !== undefined);
      const readsBody = wantsBody && isGivenUp && attemptId !== undefined;
      const body = listedBody ?? (readsBody ? await storedBody(webhook.id, attemptId) : undefined);
      if (isAcknowledged && body !== undefined && isUnhandled(internals, type, body)) {
        acknowledged.compared -= 1;
        acknowledged.unhandled += 1;
        continue;
      }
      const entry = { ...delivery, hasBody: body !== undefined };
      if (recover === undefined || body === undefined || !isGivenUp) {
        missing.push(entry);
        continue;
      }
      let outcome: WebhookOutcome;
      try {
        ({ outcome } = await recover({ id, type, body }));
      } catch (error) {
        // The deliveries that follow may be recovered all the same.
        missing.push({ ...entry, error });
        continue;
      }
      if (outcome === "duplicate") completed += isAcknowledged ? 0 : 1;
      else if (DONE.includes(outcome)) recovered.push({ ...entry, recovered: outcome });
      else missing.push({ ...entry, recovered: outcome });
    }
  }
  const checked = isCompleted === undefined ? undefined : acknowledged;
  return {
    missing,
    recovered,
    completed,
    acknowledged: checked,
    attempts: sumOf(histories, "attempts"),
    unreadable: sumOf(histories, "unreadable"),
    histories,
    unreadBodies,
    withoutHistory,
  };
}

function sumOf(histories: readonly AttemptHistory[], name: "attempts" | "unreadable"): number {
  return histories.reduce((sum, history) => sum + history[name], 0);
}
