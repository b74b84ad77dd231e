import type { TwinDelivery, TwinEnd } from "./twin-delivery.js";

/** What became of many deliveries. */
export interface TwinReport {
  /** Repeats the run, where the receiver does the same again. */
  readonly seed: number;
  /** In the order of the events, and of the webhooks for each. */
  readonly deliveries: readonly TwinDelivery[];
  readonly acknowledged: number;
  readonly givenUp: number;
  readonly exhausted: number;
  readonly stopped: number;
  /** How many requests were sent or lost on the way, copies included. */
  readonly requests: number;
  /** What the gateway never sends again, though nobody acknowledged it: given up or exhausted. */
  readonly lost: readonly TwinDelivery[];
}

/** Counts deliveries by their ends. */
export function reportOn(seed: number, deliveries: readonly TwinDelivery[]): TwinReport {
  const count = (end: TwinEnd): number =>
    deliveries.filter((delivery) => delivery.end === end).length;
  return {
    seed,
    deliveries,
    acknowledged: count("acknowledged"),
    givenUp: count("given_up"),
    exhausted: count("exhausted"),
    stopped: count("stopped"),
    requests: deliveries.reduce((sum, { attempts }) => sum + attempts.length, 0),
    lost: deliveries.filter(({ end }) => end === "given_up" || end === "exhausted"),
  };
}
