import { lagOf } from "../records/delivery-lag.js";
import { eventTypeOf } from "../records/online-data-event.js";
import type { OutcomeReport } from "./observers.js";
import { hasHungUp, type Ending, type Trace } from "./trace.js";

/**
 * Makes the report of a request; `isLate` marks the second report of a delivery. A field that is not
 * known is left out, so a key that exists has a value.
 */
export function createReport(
  trace: Trace,
  { outcome, error, sameRecord }: Ending,
  status: number,
  isLate = false,
): OutcomeReport {
  const { startedAt, bytes, id, type, secretIndex, takeover, record } = trace;
  const eventType = type === "delete_my_data_event" ? eventTypeOf(record) : undefined;
  const lag = record === undefined ? undefined : lagOf(record, trace.timestampMs);
  return {
    outcome,
    status,
    bytes,
    durationMs: performance.now() - startedAt,
    ...(id === undefined ? {} : { id }),
    ...(type === undefined ? {} : { type }),
    ...(eventType === undefined ? {} : { eventType }),
    ...(secretIndex === undefined ? {} : { secretIndex }),
    ...(takeover === undefined ? {} : { takeover }),
    ...(sameRecord === undefined ? {} : { sameRecord }),
    ...(trace.recovered ? { recovered: true } : {}),
    ...(!isLate && hasHungUp(trace) ? { disconnected: true } : {}),
    ...(lag === undefined ? {} : { lagMs: lag.lagMs }),
    ...(lag?.attempt === undefined ? {} : { attempt: lag.attempt }),
    ...(error === undefined ? {} : { error }),
    ...(isLate ? { late: true } : {}),
  };
}
