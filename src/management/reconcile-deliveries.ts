import { invalidOption } from "../common/errors.js";
import { ownOptions } from "../common/option-checks.js";
import type { MaybePromise } from "../common/promises.js";
import type { WebhookResponse } from "../answer/answer.js";
import type { WebhookOutcome } from "../answer/outcome.js";
import type { RecoverableDelivery } from "../delivery/recovered-delivery.js";
import type { AttemptReader } from "./attempt-reader.js";
import type { ManagementClient } from "./management-client.js";
import { failedDeliveries, type FailedDelivery } from "./failed-deliveries.js";
import { ManagementError, type ManagementErrorCode } from "./management-error.js";
import { isSameUrl, type Webhook } from "./webhook.js";

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
   * Whether a delivery was handled although its last attempt failed, for example after `handler_timeout`. Not needed with
   * `recover`, which asks the store itself. Default none: every failed delivery is listed.
   */
  readonly isCompleted?: ((deliveryId: string) => MaybePromise<boolean>) | undefined;
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

/**
 * A delivery that was not handled.
 *
 * @experimental
 */
export interface MissingDelivery extends Omit<FailedDelivery, "body" | "attemptId"> {
  /** Whether a stored attempt has the body, so that `recover` can handle it. */
  readonly hasBody: boolean;
  /** What `recover` returned. Undefined if it was not called, or failed. */
  readonly recovered?: WebhookOutcome | undefined;
  /** What `recover` threw, if it is a function of yours. `recoverDelivery` never rejects. */
  readonly error?: unknown;
}

/**
 * The result of a reconciliation. It holds no body.
 *
 * @experimental
 */
export interface ReconcileReport {
  /** Deliveries that were not handled, and are not now. */
  readonly missing: readonly MissingDelivery[];
  /** Deliveries that `recover` has handled now. */
  readonly recovered: readonly MissingDelivery[];
  /** Failed deliveries that the store knew as handled. */
  readonly completed: number;
  /** Number of attempts that were read, each once although two pages of the list may have it. */
  readonly attempts: number;
  /** Attempts that `readAttempt` could not read: their deliveries are unknown. */
  readonly unreadable: number;
  /** Deliveries in `missing` whose body could not be read: the call for it failed, or its record is unreadable. */
  readonly unreadBodies: number;
  /** Webhooks whose history is off: nothing is known of their deliveries. */
  readonly withoutHistory: readonly Webhook[];
}

const OPTION_NAMES = ["url", "since", "readAttempt", "isCompleted", "recover", "now", "signal"];
/** After these outcomes of `recover` nothing is missing. `unhandled` is none: no handler has run. */
const DONE: readonly WebhookOutcome[] = ["handled", "discarded"];
/** After these no further call can succeed. Any other failure concerns one attempt. */
const FATAL: readonly ManagementErrorCode[] = ["aborted", "no_token", "unauthorized", "network"];

/**
 * Finds the deliveries that the gateway gave up or still tries, and the store does not know as handled; with `recover` it
 * handles those that were given up. It can be repeated: what was recovered is found as completed.
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
  let [completed, attempts, unreadable, unreadBodies] = [0, 0, 0, 0];
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
    const found = failedDeliveries(webhook, records, { since, readAttempt, nowMs: now() });
    attempts += found.attempts;
    unreadable += found.unreadable;
    for (const { attemptId, body: listedBody, ...delivery } of found.failed) {
      if (signal?.aborted === true) throw new ManagementError("aborted", "reconcile was aborted");
      const { deliveryId: id, type, isGivenUp } = delivery;
      if ((await isCompleted?.(id)) === true) {
        completed += 1;
        continue;
      }
      const readsBody = recover !== undefined && isGivenUp && attemptId !== undefined;
      const body = listedBody ?? (readsBody ? await storedBody(webhook.id, attemptId) : undefined);
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
      if (outcome === "duplicate") completed += 1;
      else if (DONE.includes(outcome)) recovered.push({ ...entry, recovered: outcome });
      else missing.push({ ...entry, recovered: outcome });
    }
  }
  return { missing, recovered, completed, attempts, unreadable, unreadBodies, withoutHistory };
}

/**
 * The report as metrics, in the text format of Prometheus, for a textfile collector.
 *
 * @experimental
 */
export function reconcileMetrics(report: ReconcileReport): string {
  const { missing, recovered, unreadable, withoutHistory } = report;
  const givenUp = missing.filter(({ isGivenUp }) => isGivenUp).length;
  const gauge = (name: string, help: string, counts: Readonly<Record<string, number>>) => [
    `# HELP gateway_webhook_reconcile_${name} ${help}`,
    `# TYPE gateway_webhook_reconcile_${name} gauge`,
    ...Object.entries(counts).map(
      ([labels, count]) => `gateway_webhook_reconcile_${name}${labels} ${String(count)}`,
    ),
  ];
  return [
    ...gauge(
      "missing_deliveries",
      "Deliveries that were not handled, by whether the gateway gave them up",
      { '{state="given_up"}': givenUp, '{state="retrying"}': missing.length - givenUp },
    ),
    ...gauge("recovered_deliveries", "Deliveries that this run has recovered", {
      "": recovered.length,
    }),
    ...gauge("unreadable_attempts", "Stored attempts that could not be read", { "": unreadable }),
    ...gauge("webhooks_without_history", "Webhooks whose attempts are not stored", {
      "": withoutHistory.length,
    }),
    "",
  ].join("\n");
}
