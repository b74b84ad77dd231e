import type { Log } from "../answer/logger.js";
import type { Tally } from "./tally.js";
import type { Telemetry } from "./telemetry.js";

/** By `Symbol.for`, so that it works between two copies of the package. */
export const TALLY_HOOK = Symbol.for("identity-gateway-webhooks.takesTally");

/** A queue that jobs are written to, as far as metrics read it. */
export interface MeasuredQueue {
  readonly queueName?: string | undefined;
  /** How long the oldest job that is due has waited for a worker, in milliseconds; 0 if none waits. */
  readonly oldestWaitMs?: (() => PromiseLike<number>) | undefined;
}

/** Telemetry that reads the tally of each receiver, and the age of each queue, that it is given to. */
export interface TakesTally {
  readonly [TALLY_HOOK]: {
    /** Called once for each inbox. */
    readonly connectQueue: (queue: MeasuredQueue) => void;
    /** Called once for each receiver. */
    readonly connect: (tally: Tally, log: Log) => void;
    /** Whether it also wants to see each delivery. If not, deliveries have no observer. */
    readonly seesDeliveries: boolean;
  };
}

/** Gives the tally of a new receiver to its telemetry. Returns the telemetry if it sees deliveries. */
export function connectTally(
  telemetry: Telemetry | undefined,
  tally: Tally,
  log: Log,
): Telemetry | undefined {
  const hook = hookOf(telemetry);
  hook?.connect(tally, log);
  return hook?.seesDeliveries === false ? undefined : telemetry;
}

/** Gives the queue of a new inbox to its telemetry. */
export function connectQueue(telemetry: Telemetry | undefined, queue: MeasuredQueue): void {
  hookOf(telemetry)?.connectQueue(queue);
}

function hookOf(telemetry: Telemetry | undefined): TakesTally[typeof TALLY_HOOK] | undefined {
  return (telemetry as Partial<TakesTally> | undefined)?.[TALLY_HOOK];
}
