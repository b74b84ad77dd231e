import { lagOf } from "../records/delivery-lag.js";
import { eventTypeOf } from "../records/online-data-event.js";
import type { Draft, OutcomeReport } from "./observers.js";
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
  const report: Draft<OutcomeReport> = {
    outcome,
    status,
    bytes,
    durationMs: performance.now() - startedAt,
  };
  if (id !== undefined) report.id = id;
  if (type !== undefined) report.type = type;
  if (eventType !== undefined) report.eventType = eventType;
  if (secretIndex !== undefined) report.secretIndex = secretIndex;
  if (takeover !== undefined) report.takeover = takeover;
  if (sameRecord !== undefined) report.sameRecord = sameRecord;
  if (trace.recovered) report.recovered = true;
  if (!isLate && hasHungUp(trace)) report.disconnected = true;
  if (lag !== undefined) report.lagMs = lag.lagMs;
  if (lag?.attempt !== undefined) report.attempt = lag.attempt;
  if (error !== undefined) report.error = error;
  if (isLate) report.late = true;
  return report;
}
