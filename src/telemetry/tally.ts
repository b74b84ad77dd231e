import type { DurationRecorder } from "../answer/observers.js";
import { OUTCOMES, type WebhookOutcome } from "../answer/outcome.js";
import { hasHungUp, type MatchedSecret, type Trace } from "../answer/trace.js";
import { WEBHOOK_TYPES } from "../common/gateway-facts.js";
import { typeLabel, type TypeLabel, type WebhookType } from "../delivery/headers.js";
import type { RefusedType } from "./outcome-facts.js";
import { ATTEMPT_LABELS, lagOf } from "../records/delivery-lag.js";
import { eventTypeOf, ONLINE_DATA_EVENT_TYPES } from "../records/online-data-event.js";
import type { MaybePromise } from "../common/promises.js";
import { within } from "../common/timers.js";

/** The types, in the order of the exported series. A request that is not authentic has none. */
export const TYPE_LABELS: readonly TypeLabel[] = [...WEBHOOK_TYPES, "other", "none"];

/** Why a request that may be the gateway's is not authentic. */
const NOT_AUTHENTIC = ["unsigned", "signature_mismatch", "malformed_signed"] as const;

/** What is counted for each type. */
export interface TypeTally {
  /** Requests by outcome. */
  readonly requests: Record<WebhookOutcome, number>;
  /** Requests that claim the type and are not authentic, but may be the gateway's. */
  readonly notAuthentic: Record<(typeof NOT_AUTHENTIC)[number], number>;
  /** How handlers ended after their `handler_timeout`, by outcome. */
  readonly late: Record<LateOutcome, number>;
  /** Handlers that threw or timed out, by the type of the event; alarms count as `none`. */
  readonly handlerFailures: Record<string, number>;
  /** How often each secret matched. Two may have the same index, one after the other. */
  readonly secretMatches: Map<MatchedSecret, number>;
  /** When the last authentic delivery came, in Unix milliseconds; 0 for never. `HealthCounts` sets both times. */
  lastAuthenticMs: number;
  /** When the last delivery was handled, discarded or a duplicate, in Unix milliseconds; 0 for never. */
  lastAcknowledgedMs: number;
}

/** The methods of a store. */
export const STORE_CALLS = ["claim", "renew", "complete", "release", "process"] as const;
type StoreCall = (typeof STORE_CALLS)[number];

const EVENTS = [
  // The sum of what is counted as `notAuthentic` of each documented type.
  "notAuthentic",
  // Requests without a usable secret, except those of a type that is not documented.
  "secretUnavailable",
  // Requests whose sender had hung up before the answer.
  "disconnected",
  // Those of them that the gateway had sent.
  "authenticDisconnected",
  // Deliveries that `recoverDelivery` was called for.
  "recovered",
  // Deliveries with a field or value that the gateway's document does not list.
  "drifted",
  // Refusals at what was probably the gateway's last attempt.
  "lastAttemptsRefused",
  // Handlers that settled within their time, but took more than half of it.
  "slowHandlers",
  // Deliveries that are done, but whose completion the store did not take at once.
  "completionsFailed",
  // Warnings of a store that forgets ids within their retention, or may.
  "storeForgets",
] as const;
type TalliedEvent = (typeof EVENTS)[number];

const OUTCOME_NAMES = Object.keys(OUTCOMES) as readonly WebhookOutcome[];
/** What is counted of all types together: requests by outcome, and more. */
export const TOTALS = [...OUTCOME_NAMES, ...EVENTS] as const;
export type TotalName = (typeof TOTALS)[number];

const LATE_OUTCOMES = ["handled", "discarded", "retry_later", "handler_failed"] as const;
type LateOutcome = (typeof LATE_OUTCOMES)[number];

/**
 * The numbers of one receiver since it was made. Each receiver counts, whether or not anyone reads, so it
 * adds to numbers only: it makes no object and reads no clock for a request. Durations are measured
 * from the first `attach` on. It holds no id and nothing of a body.
 */
export class Tally {
  readonly byType: Readonly<Record<TypeLabel, TypeTally>>;
  /** Where durations go; undefined until someone wants them. */
  durations: DurationRecorder | undefined;
  /** What is counted beside the outcomes. */
  readonly events: Record<TalliedEvent, number> = zeros(EVENTS);
  /** Deliveries that were refused as `overloaded`, by the attempt that this probably was. */
  readonly overloaded: Record<string, number> = zeros(ATTEMPT_LABELS);
  /** Store calls that rejected, threw or took too long, by the name of the call. */
  readonly storeFailures: Record<StoreCall, number> = zeros(STORE_CALLS);

  /** More secrets than `keyring` knows are found as they match. */
  constructor(keyring: { known(type: WebhookType): readonly MatchedSecret[] } | undefined) {
    const secrets = (type: WebhookType) => keyring?.known(type) ?? [];
    const eventTypes = [...ONLINE_DATA_EVENT_TYPES, "other"];
    this.byType = {
      new_alarm: emptyTally(["none"], secrets("new_alarm")),
      delete_my_data_event: emptyTally(eventTypes, secrets("delete_my_data_event")),
      other: emptyTally(["none"], []),
      none: emptyTally(["none"], []),
    };
  }

  /** Counts a request that is about to be answered. */
  count(trace: Trace, outcome: WebhookOutcome): void {
    const { type, secret } = trace;
    const tally = this.byType[typeLabel(type)];
    tally.requests[outcome] += 1;
    if (hasHungUp(trace)) this.events.disconnected += 1;
    if (type === undefined) {
      this.#countNotAuthentic(trace, outcome);
      return;
    }
    // A delivery that was recovered does not show that the gateway can reach this receiver.
    if (trace.recovered) this.events.recovered += 1;
    else if (hasHungUp(trace)) this.events.authenticDisconnected += 1;
    if (secret !== undefined) {
      tally.secretMatches.set(secret, (tally.secretMatches.get(secret) ?? 0) + 1);
    }
    if (outcome === "handler_failed" || outcome === "handler_timeout") {
      const eventType =
        (type === "delete_my_data_event" ? eventTypeOf(trace.record) : undefined) ?? "none";
      tally.handlerFailures[eventType] = (tally.handlerFailures[eventType] ?? 0) + 1;
    }
    if (outcome === "overloaded") {
      const attempt = lagOf(trace.record, trace.timestampMs)?.attempt ?? "unknown";
      this.overloaded[attempt] = (this.overloaded[attempt] ?? 0) + 1;
    }
    if (this.durations !== undefined) measure(this.durations, trace);
  }

  #countNotAuthentic({ claimed }: Trace, outcome: WebhookOutcome): void {
    const name = outcome === "malformed" ? "malformed_signed" : outcome;
    const reason = NOT_AUTHENTIC.find((one) => one === name);
    if (claimed !== "other" && outcome === "secret_unavailable") this.events.secretUnavailable += 1;
    if (claimed === undefined || reason === undefined) return;
    this.byType[claimed].notAuthentic[reason] += 1;
    if (claimed !== "other") this.events.notAuthentic += 1;
  }

  /** Counts how a handler ended after its `handler_timeout`. */
  countLate({ type }: Trace, outcome: WebhookOutcome): void {
    const { late } = this.byType[typeLabel(type)];
    const known = LATE_OUTCOMES.find((one) => one === outcome) ?? "handler_failed";
    late[known] += 1;
  }

  /** Counts a warning of the store that it forgets ids within their retention, or may. */
  noteForgets(): void {
    this.events.storeForgets += 1;
  }

  /** How much was counted under a name, of all types together. */
  total(name: TotalName): number {
    if (!isOutcome(name)) return this.events[name];
    return TYPE_LABELS.reduce((sum, type) => sum + this.byType[type].requests[name], 0);
  }

  /** Measures durations from now on, and records them there too. */
  attach(added: DurationRecorder): void {
    const { durations } = this;
    this.durations = {
      record(name, seconds, attributes) {
        durations?.record(name, seconds, attributes);
        added.record(name, seconds, attributes);
      },
    };
  }
}

/** The numbers of a receiver, as metrics read them. */
export interface MeasuredReceiver {
  readonly tally: Tally;
  /** When the receiver was made, in Unix milliseconds; 0 while its clock gives no time. */
  readonly startedAtMs: () => number;
  /** Since when deliveries of a type, by their retries the gateway's, have all been refused; 0 otherwise. */
  readonly refusedSinceMs: (type: RefusedType) => number;
  /** Requests that are being received, and handlers that go on after `handler_timeout`. */
  readonly inFlight: () => number;
  /** Deliveries that wait for a place. */
  readonly waiting: () => number;
  /** How many event types of each webhook type have a handler; of alarms 1 or 0. */
  readonly handlers: Readonly<Record<WebhookType, number>>;
  /** Completions that the store has not taken yet. */
  readonly completionsPending: () => number;
}

function zeros<Key extends string>(keys: readonly Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
}

function isOutcome(name: TotalName): name is WebhookOutcome {
  return name in OUTCOMES;
}

function emptyTally(eventTypes: readonly string[], secrets: readonly MatchedSecret[]): TypeTally {
  return {
    requests: zeros(OUTCOME_NAMES),
    notAuthentic: zeros(NOT_AUTHENTIC),
    late: zeros(LATE_OUTCOMES),
    handlerFailures: zeros(eventTypes),
    secretMatches: new Map(secrets.map((secret) => [secret, 0])),
    lastAuthenticMs: 0,
    lastAcknowledgedMs: 0,
  };
}

function measure(durations: DurationRecorder, { startedAt, type, record, timestampMs }: Trace) {
  durations.record("receive", (performance.now() - startedAt) / 1000);
  // An event may have occurred long before it was recorded.
  const lag = type === "new_alarm" ? lagOf(record, timestampMs) : undefined;
  if (lag !== undefined) durations.record("lag", Math.max(0, lag.lagMs) / 1000);
}

/**
 * Bounds the calls of a store, and tells the tally how long they took and which failed. A call that
 * answers synchronously is not measured: it would cost a tenth of a delivery with the memory store.
 */
export class StoreCalls {
  readonly #tally: Tally;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  /** Counts a call that failed. */
  failed(call: StoreCall): void {
    this.#tally.storeFailures[call] += 1;
  }

  /** Waits for `work` for at most `ms` milliseconds, then rejects with a `DeadlineError`. */
  within<T>(ms: number, call: StoreCall, work: PromiseLike<T>): Promise<T> {
    const startedAt = performance.now();
    const bounded = within(ms, `store.${call}`, work);
    const record = (): void => {
      const seconds = (performance.now() - startedAt) / 1000;
      this.#tally.durations?.record("store", seconds, OPERATION[call]);
    };
    bounded.then(record, () => {
      this.failed(call);
      record();
    });
    return bounded;
  }

  /** Calls a method that may throw, and waits for it. */
  async run<T>(ms: number, call: StoreCall, work: () => MaybePromise<T>): Promise<T> {
    return this.within(ms, call, (async () => work())());
  }
}

/** The attributes of each call, made once. */
const OPERATION = Object.fromEntries(
  STORE_CALLS.map((operation) => [operation, { operation }]),
) as Readonly<Record<StoreCall, { readonly operation: StoreCall }>>;
