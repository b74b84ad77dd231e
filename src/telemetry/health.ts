import type { Log } from "../answer/logger.js";
import type { WebhookType } from "../delivery/headers.js";
import { ATTEMPT_LABELS } from "../records/delivery-lag.js";
import { DriftWatch } from "./drift-watch.js";
import type { ExpectedEvery } from "./expect-every.js";
import { HealthCounts, type HealthCountsOptions } from "./health-counts.js";
import { measure, ratioOf, type HealthFacts } from "./health-measures.js";
import {
  HEALTH_REASON_CODES,
  HEALTH_REASONS,
  type HealthReasonCode,
  type HealthStatus,
} from "./health-reasons.js";
import { MinuteRing } from "./minute-ring.js";
import type { MeasuredReceiver } from "./tally.js";
import type { QueueState } from "./telemetry.js";

/** One reason why a receiver is not healthy. Holds nothing of a request. */
export interface HealthReason {
  /** Stable, so that code can branch on it. Each code is there at most once. */
  readonly code: HealthReasonCode;
  /** When it began, as far as the counts tell: ISO 8601 in UTC. */
  readonly since: string;
  /** How many requests, or types, jobs or completions, it is about now. At least 1. */
  readonly count: number;
  /** What to do, in one sentence. */
  readonly advice: string;
}

/** Parts of the requests of the last 15 minutes, each from 0 to 1. 0 if there were no requests. */
export interface HealthRatios {
  /** Missing or wrong signatures, of all requests whose signature was checked. */
  readonly mismatches: number;
  /** Timestamps outside the tolerance, of all authentic requests. */
  readonly stale: number;
  /** Failed claims and completions, of all requests that needed the store. */
  readonly storeFailures: number;
  /** `handler_failed` and `handler_timeout`, of all handler runs. */
  readonly handlerFailures: number;
  /** Runs that took longer than half of `handlerTimeoutMs`, of all handler runs. */
  readonly slowHandlers: number;
  /** Duplicates, of all deliveries that are done. */
  readonly duplicates: number;
  /** Senders that hung up before the answer, of all authentic requests. */
  readonly disconnects: number;
}

/** What `receiver.health()` returns: plain data for JSON. Times are ISO 8601 in UTC, null if there is none. */
export interface ReceiverHealth {
  /** The worst of the reasons; `ok` without reasons. */
  readonly status: HealthStatus;
  readonly reasons: readonly HealthReason[];
  /** The last request with a good signature, also a stale one. */
  readonly lastAuthenticAt: string | null;
  /** The last delivery of each type that was answered 200 as handled, duplicate or discarded. */
  readonly lastAcknowledgedAt: Readonly<Record<WebhookType, string | null>>;
  readonly ratios: HealthRatios;
  readonly store: {
    /** Whether the last delivery that needed the store got its answer. True before the first. */
    readonly ok: boolean;
    readonly lastErrorAt: string | null;
  };
  /** Handled deliveries whose completion the store has not taken yet. It is retried. */
  readonly completionsPending: number;
  /** Requests and handlers that run now. */
  readonly inFlight: number;
  /** Deliveries that wait for a place now: a connection, or a slot of `maxConcurrentDeliveries`. */
  readonly waiting: number;
  /**
   * How many deliveries found no place in the last 15 minutes, by the attempt that this probably was: `"1"` to
   * `"10"`, or `"unknown"`. The gateway sends them again, but not after the tenth.
   */
  readonly overloaded: Readonly<Record<string, number>>;
  /** Whether `drain` was called. */
  readonly draining: boolean;
}

/** Options of `receiver.health`. */
export interface HealthOptions {
  /**
   * The state of each queue that an inbox writes to, which a receiver does not know: `await driver.waiting?.()`.
   * Undefined for one that does not tell. Default: none.
   */
  readonly queues?: readonly (QueueState | undefined)[] | undefined;
}

/** What `Health` needs of the receiver. */
interface HealthSources
  extends HealthCountsOptions, Pick<MeasuredReceiver, "inFlight" | "waiting" | "handlers"> {
  readonly expectEvery: ExpectedEvery;
  readonly isDraining: () => boolean;
}

/** Makes the health of a receiver out of its counts. No method throws. */
export class Health {
  readonly drift: DriftWatch;
  /** Takes each request. */
  readonly counts: HealthCounts;
  readonly #sources: HealthSources;
  readonly #overloaded: MinuteRing<string>;
  /** Since when each reason applies. */
  readonly #since = new Map<HealthReasonCode, number>();
  #queues: HealthFacts["queues"] = [];

  constructor(sources: HealthSources, log: Log) {
    this.#sources = sources;
    this.counts = new HealthCounts(sources);
    this.#overloaded = new MinuteRing(
      ATTEMPT_LABELS,
      (attempt) => sources.tally.overloaded[attempt] ?? 0,
    );
    this.counts.onTurn = (nowMs) => {
      this.#overloaded.turnTo(nowMs);
      this.#judge(nowMs);
    };
    this.counts.onSetBack = (nowMs) => this.#setBack(nowMs);
    this.drift = new DriftWatch(log, () => {
      this.counts.noteDrift();
      sources.tally.events.drifted += 1;
    });
  }

  /** The health now. */
  read(options?: HealthOptions): ReceiverHealth {
    const nowMs = this.counts.readClock();
    this.#queues = checkedQueues(options?.queues);
    const reasons = this.#judge(nowMs);
    const { completionsPending, inFlight, waiting, isDraining } = this.#sources;
    const overloaded = ATTEMPT_LABELS.map((one) => [one, this.#overloaded.sum([one])] as const);
    const { byType } = this.#sources.tally;
    const types = Object.values(byType);
    const store = this.counts.runOf("store");
    const statuses = reasons.map(({ code }) => HEALTH_REASONS[code].status);
    const status = statuses.includes("failing") ? "failing" : (statuses[0] ?? "ok");
    return {
      status,
      reasons,
      lastAuthenticAt: isoOf(Math.max(...types.map(({ lastAuthenticMs }) => lastAuthenticMs))),
      lastAcknowledgedAt: {
        new_alarm: isoOf(byType.new_alarm.lastAcknowledgedMs),
        delete_my_data_event: isoOf(byType.delete_my_data_event.lastAcknowledgedMs),
      },
      ratios: {
        mismatches: ratioOf("mismatch_ratio", this.counts),
        stale: ratioOf("stale", this.counts),
        storeFailures: ratioOf("store_failing", this.counts),
        handlerFailures: ratioOf("handlers_failing", this.counts),
        slowHandlers: ratioOf("handlers_slow", this.counts),
        duplicates: ratioOf("duplicates", this.counts),
        disconnects: ratioOf("disconnects", this.counts),
      },
      store: { ok: store.count === 0, lastErrorAt: isoOf(store.lastMs) },
      completionsPending: completionsPending(),
      inFlight: inFlight(),
      waiting: waiting(),
      overloaded: Object.fromEntries(overloaded.filter(([, count]) => count > 0)),
      draining: isDraining(),
    };
  }

  /**
   * The reasons that apply now. Called each minute with requests and by `read`, so that a reason that ended in
   * between is a new one when it comes back.
   */
  #judge(nowMs: number): HealthReason[] {
    const { expectEvery, completionsPending, handlers } = this.#sources;
    const facts: HealthFacts = {
      nowMs,
      expectEvery,
      handlers,
      queues: this.#queues,
      completionsPending: completionsPending(),
    };
    return HEALTH_REASON_CODES.flatMap((code): HealthReason[] => {
      const { count, sinceMs = nowMs } = measure(code, this.counts, facts);
      if (count === 0) {
        this.#since.delete(code);
        return [];
      }
      const started = this.counts.timeOf("started") || nowMs;
      const known = this.#since.get(code) ?? Math.max(started, Math.min(sinceMs, nowMs));
      this.#since.set(code, known);
      const since = new Date(known).toISOString();
      return [{ code, since, count, advice: HEALTH_REASONS[code].advice }];
    });
  }

  #setBack(nowMs: number): void {
    for (const [code, since] of this.#since) this.#since.set(code, Math.min(since, nowMs));
  }
}

/** Null for never: 0 or NaN. */
function isoOf(ms: number): string | null {
  return ms > 0 ? new Date(ms).toISOString() : null;
}

/** 0 for anything else than a number: a health check must not fail for a wrong argument. */
function checkedQueues(given: unknown): HealthFacts["queues"] {
  const numberOf = (value: unknown): number =>
    typeof value === "number" && value > 0 && Number.isFinite(value) ? Math.floor(value) : 0;
  return (Array.isArray(given) ? given : []).map((state: unknown) => {
    const { count, oldestMs, dead } = Object(state) as Record<string, unknown>;
    return { count: numberOf(count), oldestMs: numberOf(oldestMs), dead: numberOf(dead) };
  });
}
