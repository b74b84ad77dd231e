/** Whether deliveries are lost or late (`failing`), or may soon be (`degraded`). */
export type HealthStatus = "ok" | "degraded" | "failing";

/** When a reason applies. Within 15 minutes, or in a row for as long as it takes. */
export interface ReasonRule {
  readonly status: Exclude<HealthStatus, "ok">;
  /** The least count. A single failure is not unhealthy. */
  readonly min: number;
  /** The count must also be more than this part of the whole. */
  readonly share?: number;
  /** So many in a row are enough, however long it took: the gateway's later attempts are hours apart. */
  readonly inRow?: number;
  /** What to do, in one sentence. */
  readonly advice: string;
}

/** The stable codes of reasons. A minor version may add members. */
export type HealthReasonCode =
  | "all_refused"
  | "mismatch_ratio"
  | "stale"
  | "types_lost"
  | "silence"
  | "body_consumed"
  | "secret_unavailable"
  | "store_failing"
  | "completions_pending"
  | "handlers_failing"
  | "handlers_slow"
  | "overloaded"
  | "duplicates"
  | "disconnects"
  | "last_attempts_refused"
  | "dead_jobs"
  | "jobs_waiting"
  | "unhandled_types"
  | "schema_drift";

/** Every reason. `docs/monitoring.md` explains what each counts. */
export const HEALTH_REASONS: Readonly<Record<HealthReasonCode, ReasonRule>> = {
  all_refused: {
    status: "failing",
    min: 5,
    advice:
      "Run webhooks check with --fields: deliveries_refused says that the gateway's own deliveries fail. Then compare the secret here with the one there, and look for a redirect in front, and for a proxy or parser that changes the body or a header. Otherwise a stranger sends these requests.",
  },
  mismatch_ratio: {
    status: "degraded",
    min: 5,
    share: 0.2,
    advice:
      "If the gateway sends these requests, its secret was changed or removed: set secret to [new, old], the new one first; or something in front redirects or changes them, as the log says; otherwise someone sends forgeries, which are refused.",
  },
  stale: {
    status: "failing",
    min: 3,
    share: 0.2,
    inRow: 3,
    advice:
      "Compare the clock of this machine with NTP, and look for a queue or proxy in front that delays requests.",
  },
  types_lost: {
    status: "failing",
    min: 1,
    advice:
      "Add the handler that the log line unhandled names, undo the deploy whose handler discards every delivery, or give handlers.unrecognized and update this library: nothing of a webhook type is handled.",
  },
  silence: {
    status: "failing",
    min: 1,
    advice:
      "Check at the gateway that the webhook of the type is active and its URL leads here: lastAcknowledgedAt says which type is silent for longer than expectEvery.",
  },
  body_consumed: {
    status: "failing",
    min: 3,
    share: 0.2,
    inRow: 3,
    advice: "Mount the receiver before body parsers.",
  },
  secret_unavailable: {
    status: "degraded",
    min: 3,
    share: 0.2,
    inRow: 3,
    advice: "Repair what the secret function asks: the log has its error.",
  },
  store_failing: {
    status: "failing",
    min: 3,
    share: 0.1,
    inRow: 3,
    advice: "Repair the store or the way to it: the log has its error.",
  },
  completions_pending: {
    status: "degraded",
    min: 1,
    advice:
      "Repair the store before this process ends: it has not taken the completion of handled deliveries for a minute, and they would be handled again.",
  },
  handlers_failing: {
    status: "failing",
    min: 5,
    share: 0.2,
    inRow: 5,
    advice: "Repair the handler, or what it needs: the log has its errors.",
  },
  handlers_slow: {
    status: "degraded",
    min: 3,
    share: 0.05,
    advice:
      "Make the handler faster, raise handlerTimeoutMs, or use an inbox: one in twenty takes more than half of handlerTimeoutMs.",
  },
  overloaded: {
    status: "degraded",
    min: 5,
    share: 0.05,
    advice:
      "Make the handler faster, raise maxConcurrentDeliveries (or the pool of a transactional store), or use an inbox. If senders hang up while deliveries wait, look at the time-out of the proxy in front.",
  },
  duplicates: {
    status: "degraded",
    min: 5,
    share: 0.05,
    advice:
      "Find out why the gateway does not get the first answer: a slow handler, a proxy that gives up, or a connection that breaks.",
  },
  disconnects: {
    status: "degraded",
    min: 3,
    share: 0.05,
    advice:
      "Answer faster, or raise the time-out of the proxy in front: senders hang up before the answer.",
  },
  last_attempts_refused: {
    status: "failing",
    min: 1,
    advice:
      "Read the log lines last attempt refused, which name the deliveries: the gateway has probably given them up.",
  },
  dead_jobs: {
    status: "failing",
    min: 1,
    advice: "Repair the handler of the inbox, then replay its dead deliveries.",
  },
  jobs_waiting: {
    status: "failing",
    min: 1,
    advice:
      "Start the worker, or look whether it watches the queue that the inbox writes to: due jobs have waited for ten minutes.",
  },
  unhandled_types: {
    status: "degraded",
    min: 3,
    advice:
      "Add the handler that the log names, or deactivate that webhook at the gateway: these deliveries are dropped.",
  },
  schema_drift: {
    status: "degraded",
    min: 3,
    advice:
      "Update this library: the gateway sends fields or values that this version does not know, and the log names them.",
  },
};

/** The codes, in the order of the table. */
export const HEALTH_REASON_CODES = Object.keys(HEALTH_REASONS) as readonly HealthReasonCode[];
