import { WEBHOOK_TYPES } from "../common/gateway-facts.js";
import { isWebhookType } from "../delivery/headers.js";
import type { ExpectedEvery } from "./expect-every.js";
import type { HealthCounts } from "./health-counts.js";
import { HEALTH_REASONS, type HealthReasonCode } from "./health-reasons.js";
import {
  AUTHENTIC,
  DONE,
  LOSS_NAMES,
  LOSS_TYPES,
  LOSSES,
  RAN,
  REFUSALS,
  type Run,
} from "./outcome-facts.js";
import type { MeasuredReceiver, TotalName } from "./tally.js";
import type { QueueState } from "./telemetry.js";

/** One reason as it is now. A count of 0 means that it does not apply. */
export interface Measured {
  readonly count: number;
  /** When it began, in Unix milliseconds; undefined if the counts do not tell. */
  readonly sinceMs?: number;
}

/** What the counts do not know. */
export interface HealthFacts {
  readonly nowMs: number;
  readonly expectEvery: ExpectedEvery;
  readonly completionsPending: number;
  readonly handlers: MeasuredReceiver["handlers"];
  /** Checked: no number is negative. */
  readonly queues: readonly Record<keyof QueueState, number>[];
}

/** A reason that applies to a part of the requests. */
interface Share {
  readonly part: readonly TotalName[];
  readonly whole: readonly TotalName[];
  readonly run?: Run;
}

const VERIFIED = ["notAuthentic", ...AUTHENTIC] as const;
const PENDING_MS = 60_000;
/** A worker that takes jobs gets to each sooner, but for a burst. */
const WAITING_MS = 600_000;
/** A burst of a stranger is shorter. */
const REFUSED_MS = 900_000;

/** The reasons that apply to a part of the requests: the part, and the whole. */
const SHARES = {
  mismatch_ratio: { part: ["notAuthentic"], whole: VERIFIED },
  stale: { part: ["stale"], whole: AUTHENTIC, run: "stale" },
  body_consumed: { part: ["body_consumed"], whole: ["body_consumed", ...VERIFIED], run: "body" },
  secret_unavailable: {
    part: ["secretUnavailable"],
    whole: ["secretUnavailable", ...VERIFIED],
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

/** The other reasons. */
const OTHERS: Readonly<Record<Exclude<HealthReasonCode, ShareCode>, typeof silence>> = {
  all_refused: allRefused,
  types_lost: typesLost,
  silence,
  completions_pending: completionsPending,
  dead_jobs: (_, { queues }) => ({ count: queues.reduce((sum, { dead }) => sum + dead, 0) }),
  jobs_waiting: jobsWaiting,
  unhandled_types: unhandledTypes,
  schema_drift: (counts) => inRow([counts.runOf("drifted")]),
};

/** Measures one reason. */
export function measure(
  code: HealthReasonCode,
  counts: HealthCounts,
  facts: HealthFacts,
): Measured {
  const measured = isShare(code) ? measureShare(code, counts) : OTHERS[code](counts, facts);
  return measured.count >= HEALTH_REASONS[code].min ? measured : { count: 0 };
}

function isShare(code: HealthReasonCode): code is ShareCode {
  return code in SHARES;
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
  const row = run === undefined ? undefined : counts.runOf(run);
  const isRow = row !== undefined && row.count >= inRow;
  if (!isPart && !isRow) return { count: 0 };
  const firstAt = isPart ? counts.ring.firstAt(part) : undefined;
  const sinceMs = Math.min(firstAt ?? Infinity, isRow ? row.firstMs : Infinity);
  return { count: Math.max(count, row?.count ?? 0), sinceMs };
}

/** Refused requests of the types of which no delivery was authentic since the first of them. */
function allRefused(counts: HealthCounts): Measured {
  const lasting = REFUSALS.filter((type) => counts.refusedMs(type) >= REFUSED_MS);
  return inRow(lasting.map((run) => counts.runOf(run)));
}

function completionsPending(counts: HealthCounts, facts: HealthFacts): Measured {
  const sinceMs = counts.timeOf("pending");
  const isOld = facts.nowMs - sinceMs >= PENDING_MS;
  return { count: isOld ? facts.completionsPending : 0, sinceMs };
}

/** Deliveries that were dropped because their event type has no handler, while others of their webhook type have one. */
function unhandledTypes(counts: HealthCounts, { handlers }: HealthFacts): Measured {
  const taken = WEBHOOK_TYPES.filter((type) => handlers[type] > 0);
  return inRow(taken.map((type) => counts.runOf(`unhandled.${type}`)));
}

function inRow(runs: readonly ReturnType<HealthCounts["runOf"]>[]): Measured {
  const going = runs.filter(({ count }) => count > 0);
  return {
    count: going.reduce((sum, { count }) => sum + count, 0),
    sinceMs: Math.min(...going.map(({ firstMs }) => firstMs)),
  };
}

/** The number of webhook types of which all deliveries are lost, and since when the first of them is. */
function typesLost(counts: HealthCounts, { handlers }: HealthFacts): Measured {
  const since = LOSS_TYPES.map((type) => {
    const isTaken = isWebhookType(type) && handlers[type] > 0;
    const runs = LOSS_NAMES.filter((loss) => loss !== "unhandled" || !isTaken)
      .map((loss) => ({ ...counts.runOf(`${loss}.${type}`), least: LOSSES[loss] }))
      .filter(({ count, least }) => count >= least);
    return Math.min(...runs.map(({ firstMs }) => firstMs));
  }).filter(Number.isFinite);
  return { count: since.length, sinceMs: Math.min(...since) };
}

/** The jobs of queues that no worker takes jobs from, or too few. */
function jobsWaiting(_: HealthCounts, { nowMs, queues }: HealthFacts): Measured {
  const late = queues.filter(({ oldestMs }) => oldestMs > WAITING_MS);
  return {
    // An engine may not know how many wait.
    count: late.reduce((sum, { count }) => sum + Math.max(1, count), 0),
    sinceMs: nowMs - Math.max(...late.map(({ oldestMs }) => oldestMs)),
  };
}

/** The number of types that are silent for too long, and since when the first of them is. */
function silence(counts: HealthCounts, { nowMs, expectEvery }: HealthFacts): Measured {
  const since: number[] = [];
  for (const [type, everyMs] of expectEvery) {
    const last = counts.tally.byType[type].lastAcknowledgedMs || counts.timeOf("started");
    if (nowMs - last > everyMs) since.push(last + everyMs);
  }
  return { count: since.length, sinceMs: Math.min(...since) };
}
