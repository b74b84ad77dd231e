import type { TwinDelivery, TwinEnd } from "./twin-delivery.js";

/**
 * The result of `deliverMany`.
 *
 * @experimental
 */
export interface TwinReport {
  /** Give it to a new twin to repeat the run, if the receiver behaves the same. */
  readonly seed: number;
  /** All deliveries, ordered by event and then by webhook. */
  readonly deliveries: readonly TwinDelivery[];
  /** How many deliveries were acknowledged: a 2xx was answered, also by a page. */
  readonly acknowledged: number;
  /** How many deliveries were given up after a final or unlisted status. */
  readonly givenUp: number;
  /** How many deliveries failed in all their attempts. */
  readonly exhausted: number;
  /** How many deliveries were stopped with the twin. */
  readonly stopped: number;
  /** How many requests were sent, repeats and lost requests included. */
  readonly requests: number;
  /** The deliveries that were given up or exhausted: the gateway never sends them again. */
  readonly lost: readonly TwinDelivery[];
}

/** Counts deliveries by how they ended. */
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
