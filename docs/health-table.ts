import {
  HEALTH_REASON_CODES,
  HEALTH_REASONS,
  type HealthReasonCode,
} from "../src/telemetry/health-reasons.js";
import { LOSSES } from "../src/telemetry/outcome-facts.js";

/** What each reason counts, with the words of its share. */
const COUNTED: Readonly<Record<HealthReasonCode, { readonly what: string; readonly of?: string }>> =
  {
    all_refused: {
      what: "refused requests of one type that may be the gateway's, the first and the last at least 15 minutes apart, and no authentic delivery of the type between them or since",
    },
    mismatch_ratio: {
      what: "refused requests that may be the gateway's (`unsigned`, `signature_mismatch`, `malformed_signed`)",
      of: "the requests whose signature was checked",
    },
    stale: { what: "`stale`", of: "the authentic requests" },
    types_lost: {
      what: `webhook types of which nothing is handled: ${String(LOSSES.unrecognized)} \`unrecognized\` or ${String(LOSSES.discarded)} \`discarded\` in a row, until one of the type is \`handled\`; or an \`unhandled\` one within a day, if the type has no handler at all`,
    },
    silence: {
      what: "types in `expectEvery` without a handled delivery for longer than that, or since the start",
    },
    body_consumed: { what: "`body_consumed`", of: "the requests" },
    secret_unavailable: { what: "`secret_unavailable` of documented types", of: "the requests" },
    store_failing: {
      what: "failed claims and completions",
      of: "the deliveries that need the store",
    },
    completions_pending: {
      what: "handled deliveries whose completion the store has not taken for a minute",
    },
    handlers_failing: { what: "`handler_failed` or `handler_timeout`", of: "the handler runs" },
    handlers_slow: {
      what: "runs longer than half of `handlerTimeoutMs`: the 95th percentile is above it",
      of: "the handler runs",
    },
    overloaded: { what: "`overloaded`", of: "the authentic requests" },
    duplicates: {
      what: "`duplicate`",
      of: "the deliveries answered as handled, duplicate or discarded",
    },
    disconnects: {
      what: "senders that hung up before the answer",
      of: "the authentic requests",
    },
    last_attempts_refused: { what: "refused deliveries whose attempt was probably the tenth" },
    dead_jobs: { what: "dead jobs, as `health({ queues })` was told" },
    jobs_waiting: {
      what: "jobs of a queue whose oldest due one has waited for more than 10 minutes, as `health({ queues })` was told",
    },
    unhandled_types: {
      what: "`unhandled` since the start, of a webhook type with handlers for other event types; it ends a day after the last one",
    },
    schema_drift: {
      what: "deliveries with a field or a value that is not documented since the start; it ends a day after the last one",
    },
  };

/** The table of reasons in docs/monitoring.md. */
export function healthTable(): string {
  const rows = HEALTH_REASON_CODES.map((code) => {
    return `| \`${code}\` | ${HEALTH_REASONS[code].status} | ${whenOf(code)} |`;
  });
  return ["| reason | status | when |", "| --- | --- | --- |", ...rows].join("\n");
}

function whenOf(code: HealthReasonCode): string {
  const { min, share, inRow } = HEALTH_REASONS[code];
  const { what, of } = COUNTED[code];
  const part = of === undefined ? "" : `, and over ${String((share ?? 0) * 100)} % of ${of}`;
  const row = inRow === undefined ? "" : `; or ${String(inRow)} in a row, however long that takes`;
  return `${String(min)} or more: ${what}${part}${row}`;
}
