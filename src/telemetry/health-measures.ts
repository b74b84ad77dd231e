import type { ExpectedEvery } from "./expect-every.js";
import type { HealthCounts } from "./health-counts.js";
import { HEALTH_REASONS, type HealthReasonCode } from "./health-reasons.js";
import { AUTHENTIC, DONE, RAN, type Run } from "./outcome-facts.js";
import type { TotalName } from "./tally.js";

/** One reason as it is now. A count of 0 means that it does not apply. */
export interface Measured {
  readonly count: number;
  /** When it began, in Unix milliseconds; undefined if the counts do not tell. */
  readonly sinceMs?: number | undefined;
}

/** What the counts do not know. */
export interface HealthFacts {
  readonly nowMs: number;
  readonly expectEvery: ExpectedEvery;
  readonly completionsPending: number;
  readonly deadJobs: number;
}

/** A reason that applies to a part of the requests. */
interface Share {
  readonly part: readonly TotalName[];
  readonly whole: readonly TotalName[];
  readonly run?: Run;
}

const MISMATCHES = ["unsigned", "signature_mismatch"] as const;
const VERIFIED = [...MISMATCHES, ...AUTHENTIC];
const PENDING_MS = 60_000;

/** The reasons that apply to a part of the requests: the part, and the whole. */
const SHARES = {
  mismatch_ratio: { part: MISMATCHES, whole: VERIFIED, run: "mismatch" },
  stale: { part: ["stale"], whole: AUTHENTIC, run: "stale" },
  body_consumed: { part: ["body_consumed"], whole: ["body_consumed", ...VERIFIED], run: "body" },
  secret_unavailable: {
    part: ["secret_unavailable"],
    whole: ["secret_unavailable", ...VERIFIED],
    run: "secret",
  },
  store_failing: {
    part: ["store_unavailable", "completionsFailed"],
    whole: [...RAN, "duplicate", "in_flight", "store_unavailable"],
    run: "store",
  },
  handlers_failing: { part: ["handler_failed", "handler_timeout"], whole: RAN, run: "handler" },
  handlers_slow: { part: ["handler_timeout", "slowHandlers"], whole: RAN },
  overloaded: { part: ["overloaded"], whole: AUTHENTIC },
  duplicates: { part: ["duplicate"], whole: DONE },
  disconnects: { part: ["authenticDisconnected"], whole: AUTHENTIC },
  // One is enough, whatever the whole.
  last_attempts_refused: { part: ["lastAttemptsRefused"], whole: AUTHENTIC },
} as const satisfies Partial<Record<HealthReasonCode, Share>>;

/** A reason that applies to a part of the requests. */
export type ShareCode = keyof typeof SHARES;

/** Measures one reason. */
export function measure(
  code: HealthReasonCode,
  counts: HealthCounts,
  facts: HealthFacts,
): Measured {
  const { min } = HEALTH_REASONS[code];
  const atLeast = (count: number, sinceMs?: number): Measured =>
    count >= min ? { count, sinceMs } : { count: 0 };
  const isNew = counts.timeOf("authentic") === undefined;
  switch (code) {
    case "only_mismatches":
      return atLeast(isNew ? counts.runOf("mismatch") : 0, counts.timeOf("mismatch"));
    case "silence":
      return silence(counts, facts);
    case "completions_pending": {
      const sinceMs = counts.timeOf("pending");
      const isOld = sinceMs !== undefined && facts.nowMs - sinceMs >= PENDING_MS;
      return atLeast(isOld ? facts.completionsPending : 0, sinceMs);
    }
    case "dead_jobs":
      return atLeast(facts.deadJobs);
    case "unhandled_types":
      return atLeast(counts.totalOf("unhandled"));
    case "schema_drift":
      return atLeast(counts.totalOf("drifted"));
    case "mismatch_ratio":
      // Before the first authentic request it is `only_mismatches`.
      return isNew ? { count: 0 } : measureShare(code, counts);
    default:
      return measureShare(code, counts);
  }
}

/** The part of the requests that a reason applies to, from 0 to 1, in thousandths; 0 without requests. */
export function ratioOf(code: ShareCode, { ring }: HealthCounts): number {
  const { part, whole } = SHARES[code];
  const all = ring.sum(whole);
  return all === 0 ? 0 : Math.min(1, Math.round((1000 * ring.sum(part)) / all) / 1000);
}

function measureShare(code: ShareCode, counts: HealthCounts): Measured {
  const { part, whole, run }: Share = SHARES[code];
  const { min, share = 0, inRow = Infinity } = HEALTH_REASONS[code];
  const count = counts.ring.sum(part);
  const isPart = count >= min && count > share * counts.ring.sum(whole);
  const row = run === undefined ? 0 : counts.runOf(run);
  if (!isPart && row < inRow) return { count: 0 };
  const firstAt = isPart ? (counts.ring.firstAt(part) ?? Infinity) : Infinity;
  const rowSince = run !== undefined && row >= inRow ? counts.timeOf(run) : undefined;
  return { count: Math.max(count, row), sinceMs: Math.min(firstAt, rowSince ?? Infinity) };
}

/** The number of types that are silent for too long, and since when the first of them is. */
function silence(counts: HealthCounts, { nowMs, expectEvery }: HealthFacts): Measured {
  const since: number[] = [];
  for (const [type, everyMs] of expectEvery) {
    const last = counts.timeOf(type) ?? counts.timeOf("started");
    if (last !== undefined && nowMs - last > everyMs) since.push(last + everyMs);
  }
  return { count: since.length, sinceMs: Math.min(...since) };
}
