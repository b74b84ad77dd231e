import type { WebhookOutcome } from "../answer/outcome.js";
import type { AttemptedDelivery, AttemptHistory } from "./attempted-deliveries.js";
import type { Webhook } from "./webhook.js";

/**
 * A delivery that was not handled.
 *
 * @experimental
 */
export interface MissingDelivery extends Omit<AttemptedDelivery, "body" | "attemptId" | "firstAt"> {
  /** Whether a stored attempt has the body, so that `recover` can handle it. */
  readonly hasBody: boolean;
  /** What `recover` returned. Undefined if it was not called, or failed. */
  readonly recovered?: WebhookOutcome | undefined;
  /** What `recover` threw, if it is a function of yours. `recoverDelivery` never rejects. */
  readonly error?: unknown;
}

/** Deliveries that were answered 2xx. Those that were compared and are unknown to the store are in `missing`. */
interface AcknowledgedCounts {
  readonly compared: number;
  /** Left out: no handler takes them, so a store never holds them. */
  readonly unhandled: number;
  /** Left out: older than `retentionMs`. */
  readonly forgotten: number;
  /** Left out: answered after `completedAt`. */
  readonly later: number;
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
  /** The deliveries that were answered 2xx. Undefined without `isCompleted`: they are not checked. */
  readonly acknowledged: AcknowledgedCounts | undefined;
  /** Number of attempts that were read, each once although two pages of the list may have it. */
  readonly attempts: number;
  /** Attempts that `readAttempt` could not read: their deliveries are unknown. */
  readonly unreadable: number;
  /** What was read of each webhook. Of what is older than `oldestAt` nothing is known. */
  readonly histories: readonly AttemptHistory[];
  /** Deliveries in `missing` whose body could not be read: the call for it failed, or its record is unreadable. */
  readonly unreadBodies: number;
  /** Webhooks whose history is off: nothing is known of their deliveries. */
  readonly withoutHistory: readonly Webhook[];
}

/**
 * The report as metrics, in the text format of Prometheus, for a textfile collector.
 *
 * @experimental
 */
export function reconcileMetrics(report: ReconcileReport): string {
  const { missing, recovered, unreadable, withoutHistory } = report;
  const acknowledged = missing.filter(({ isAcknowledged }) => isAcknowledged).length;
  const givenUp = missing.filter(({ isGivenUp }) => isGivenUp).length - acknowledged;
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
      "Deliveries that were not handled, by whether the gateway gave them up, or got a 2xx for them",
      {
        '{state="given_up"}': givenUp,
        '{state="retrying"}': missing.length - givenUp - acknowledged,
        '{state="acknowledged"}': acknowledged,
      },
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
