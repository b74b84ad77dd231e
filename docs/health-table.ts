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
      what: "refused requests of one type that may be the gateway's, over at least 15 minutes, with no authentic delivery of the type since the first",
    },
    mismatch_ratio: {
      what: "refused requests that may be the gateway's (`unsigned`, `signature_mismatch`, `malformed_signed`)",
      of: "the requests whose signature was checked",
    },
    stale: { what: "`stale`", of: "the authentic requests" },
    types_lost: {
      what: `types of which nothing is handled: ${String(LOSSES.unrecognized)} \`unrecognized\` or ${String(LOSSES.discarded)} \`discarded\` in a row, until one is \`handled\`; or an \`unhandled\` one within a day, if the type has no handler at all`,
    },
    silence: { what: "types without a handled delivery for longer than `expectEvery` says" },
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
      what: "runs longer than half of `handlerTimeoutMs`, which the 95th percentile exceeds",
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
    last_attempts_refused: { what: "refused deliveries, probably at their tenth attempt" },
    dead_jobs: { what: "dead jobs in `health({ queues })`" },
    jobs_waiting: {
      what: "jobs in `health({ queues })`, the oldest due for more than 10 minutes",
    },
    unhandled_types: {
      what: "`unhandled` since the start, of a type with handlers for other event types; ends a day after the last one",
    },
    schema_drift: {
      what: "deliveries with an undocumented field or value since the start; ends a day after the last one",
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
  const part = of === undefined ? "" : `, over ${String((share ?? 0) * 100)} % of ${of}`;
  const row = inRow === undefined ? "" : `; or ${String(inRow)} in a row`;
  const least = min === 1 ? "" : `${String(min)} or more `;
  return `${least}${what}${part}${row}`;
}
