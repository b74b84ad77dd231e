import { setTimeout as wait } from "node:timers/promises";
import type { Answer, Delivery } from "../checker/history.js";
import {
  createGatewayTwin,
  createScaledClock,
  sampleAlarm,
  sampleOnlineDataEvent,
  type TwinEvent,
} from "../../../src/testing/index.js";
import type { OwnTraffic } from "../plan/mode.js";
import { createRandom } from "../../../src/testing/random.js";
import { createBalancer } from "./balancer.js";
import type { Fleet } from "./fleet.js";
import { forgeDelivery } from "./forgeries.js";

/** How much is sent, and how fast. */
export interface TrafficPlan {
  readonly deliveries: number;
  /** The least time over which their first attempts are spread. Milliseconds. */
  readonly spreadMs: number;
  readonly secret: string;
  readonly seed: number;
  readonly own: OwnTraffic;
}

/** The gateway's traffic, and some that is not the gateway's. */
export interface Traffic {
  /** Resolves when this share of the deliveries has been begun. From 0 to 1. */
  readonly begun: (share: number) => Promise<void>;
  /** Resolves when each delivery has ended at the sender. */
  readonly ended: Promise<void>;
  readonly deliveries: readonly Delivery[];
  readonly answers: readonly Answer[];
  readonly forgedAnswers: readonly Answer[];
  readonly forgedIds: ReadonlySet<string>;
  /** Requests that were sent, forgeries apart. */
  readonly requests: () => number;
  /** Ends what is under way. */
  readonly close: () => Promise<void>;
}

/** The ten attempts of the gateway's schedule, which take 6 h 40 min, in 9.6 seconds. */
const SPEED = 2_500;
const DUPLICATE_RATE = 0.05;
const COPIES_RATE = 0.05;
const FORGERY_RATE = 0.02;
const TICK_MS = 20;
/** Where so many have no end yet, the machine is too slow for the plan, and the next ones wait. */
const MAX_OPEN = 300;

/** Starts the traffic. */
export function startTraffic(
  fleet: Fleet,
  { deliveries: wanted, spreadMs, secret, seed, own }: TrafficPlan,
): Traffic {
  const genuine = createBalancer(fleet, createRandom(seed));
  const forged = createBalancer(fleet, createRandom(seed + 1));
  const twin = createGatewayTwin({
    target: genuine.handle,
    ...{ secret, seed, clock: createScaledClock(SPEED), timeoutMs: 5_000 },
    faults: { duplicateRate: DUPLICATE_RATE, concurrentCopiesRate: COPIES_RATE },
    refreshTimestamp: own.repeatsTimestamp !== true,
  });
  const maxOpen = own.openAtOnce ?? MAX_OPEN;
  const deliveries: Delivery[] = [];
  const forgedIds = new Set<string>();
  const underWay: Promise<void>[] = [];
  let started = 0;
  let isClosed = false;

  const deliver = async (number: number): Promise<void> => {
    const { id, end } = await twin.deliver(eventOf(number));
    deliveries.push({ id, end });
  };
  const forge = async (number: number): Promise<void> => {
    const { id, request } = await forgeDelivery(secret, number);
    forgedIds.add(id);
    // Nobody sends it again where it is not answered.
    await forged.handle(request).catch(() => undefined);
  };

  /** Heard of in the end: as an unhandled rejection it would leave the store's server behind. */
  const begin = (work: Promise<void>): void => {
    work.catch(() => undefined);
    underWay.push(work);
  };

  const run = async (): Promise<void> => {
    const startedAt = performance.now();
    while (started < wanted && !isClosed) {
      const passed = own.openAtOnce === undefined ? performance.now() - startedAt : Infinity;
      const planned = Math.ceil(Math.min(passed / spreadMs, 1) * wanted);
      const due = Math.min(planned, deliveries.length + maxOpen, wanted);
      for (; started < due; started++) {
        begin(deliver(started));
        if (started % Math.round(1 / FORGERY_RATE) === 0) begin(forge(started));
      }
      await wait(TICK_MS);
    }
    await Promise.all(underWay);
  };
  const ended = run();
  ended.catch(() => undefined);

  return {
    async begun(share) {
      while (started < share * wanted && !isClosed) await wait(TICK_MS);
    },
    ended,
    deliveries,
    answers: genuine.answers,
    forgedAnswers: forged.answers,
    forgedIds,
    requests: genuine.requests,
    async close() {
      isClosed = true;
      await twin.close();
      await ended.catch(() => undefined);
    },
  };
}

function eventOf(number: number): TwinEvent {
  const seed = { seed: number };
  return number % 5 === 0
    ? { event: sampleOnlineDataEvent("DATA_REAPPEARED", {}, seed) }
    : { alarm: sampleAlarm({}, seed) };
}
