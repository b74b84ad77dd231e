import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import {
  createGatewayTwin,
  createScaledClock,
  sampleAlarm,
  sampleOnlineDataEvent,
  signedDelivery,
  type TwinEvent,
} from "../../../kit/index.js";
import { createRandom, type Random } from "../../../kit/random.js";
import { outcomeOf, type WireRequest } from "../../../kit/sending/wire.js";
import type { Answer, Delivery } from "../checker/history.js";
import type { OwnTraffic } from "../plan/mode.js";
import { now } from "./clock.js";
import type { Fleet } from "./fleet.js";

const FORGERIES = [
  "wrong secret",
  "body changed",
  "id changed",
  "time changed",
  "unsigned",
] as const;

/** A request that the gateway did not make, with an id that it did not choose. */
async function forgeDelivery(
  secret: string,
  number: number,
): Promise<{ readonly id: string; readonly request: Request }> {
  const kind = FORGERIES[number % FORGERIES.length];
  const id = randomUUID();
  const { headers, body } = await signedDelivery({
    alarm: sampleAlarm({}, { seed: number }),
    secret: kind === "wrong secret" ? `${secret} of another` : secret,
    id: kind === "id changed" ? randomUUID() : id,
  });
  const { "X-Webhook-Signature": signature, ...unsigned } = headers;
  const later = String(Number(headers["X-Webhook-Timestamp"]) + 1);
  const request = new Request("http://receiver.example/", {
    method: "POST",
    headers: {
      ...unsigned,
      "X-Webhook-Id": id,
      ...(kind === "unsigned" ? {} : { "X-Webhook-Signature": signature }),
      ...(kind === "time changed" ? { "X-Webhook-Timestamp": later } : {}),
    },
    body: kind === "body changed" ? String(body).replace("{", "{ ") : String(body),
  });
  return { id, request };
}

/** Makes a balancer that chooses with `random`. */
function createBalancer(fleet: Fleet, random: Random) {
  const answers: Answer[] = [];
  let requests = 0;

  return {
    answers,
    /** Number of requests so far. */
    requests: () => requests,
    /** A target for the twin. Rejects if no receiver answers. */
    handle: async (request: Request) => {
      requests += 1;
      const senders = fleet.senders();
      if (senders.length === 0) throw new Error("no receiver listens");
      const sender = random.pick(senders);
      const { method, headers } = request;
      const id = headers.get("x-webhook-id") ?? "";
      // fetch sets it for the body that it sends.
      headers.delete("content-length");
      const body = new Uint8Array(await request.arrayBuffer());
      const wire: WireRequest = { method, headers: [...headers], body };
      const { status, body: text } = await sender.send(wire);
      answers.push({ id, at: now(), status, outcome: outcomeOf(text) });
      return new Response(text, { status });
    },
  };
}

/** Amount and speed of the traffic. */
export interface TrafficPlan {
  readonly deliveries: number;
  /** Minimum time over which the first attempts are spread. Milliseconds. */
  readonly spreadMs: number;
  readonly secret: string;
  readonly seed: number;
  readonly own: OwnTraffic;
}

/** The ten attempts of the gateway's schedule, which take 6 h 40 min, in 9.6 seconds. */
const SPEED = 2_500;
const DUPLICATE_RATE = 0.05;
const CONCURRENT_RATE = 0.05;
const FORGERY_RATE = 0.02;
const TICK_MS = 20;
/** With this many unfinished deliveries the machine is too slow for the plan, and new ones wait. */
const MAX_OPEN = 300;

/** Starts the traffic. */
export function startTraffic(
  fleet: Fleet,
  { deliveries: wanted, spreadMs, secret, seed, own }: TrafficPlan,
) {
  const genuine = createBalancer(fleet, createRandom(seed));
  const forged = createBalancer(fleet, createRandom(seed + 1));
  const twin = createGatewayTwin({
    target: genuine.handle,
    secret,
    seed,
    clock: createScaledClock(SPEED),
    timeoutMs: 5_000,
    faults: { duplicateRate: DUPLICATE_RATE, concurrentDuplicateRate: CONCURRENT_RATE },
    refreshTimestamp: own.repeatsTimestamp !== true,
  });
  const { forgeryRate = FORGERY_RATE } = own;
  const forgeriesBefore = (count: number) => Math.ceil(count * forgeryRate);
  const webhooks = own.twoWebhooks === true ? [1, 2] : [1];
  const maxOpen = (own.openAtOnce ?? MAX_OPEN) / webhooks.length;
  const deliveries: Delivery[] = [];
  const firstIds = new Map<string, string>();
  const forgedIds = new Set<string>();
  const underWay: Promise<void>[] = [];
  let started = 0;
  let isClosed = false;

  const deliver = async (number: number) => {
    const ends = await Promise.all(webhooks.map(() => twin.deliver(eventOf(number))));
    const first = ends[0]?.id ?? "";
    for (const { id, end } of ends) {
      deliveries.push({ id: first, end });
      firstIds.set(id, first);
    }
  };
  const forge = async (number: number) => {
    const { id, request } = await forgeDelivery(secret, number);
    forgedIds.add(id);
    // A forgery without an answer is not sent again.
    await forged.handle(request).catch(() => undefined);
  };

  /** Errors are thrown at the end: an unhandled rejection would leave the store's server running. */
  const begin = (work: Promise<void>) => {
    work.catch(() => undefined);
    underWay.push(work);
  };

  const run = async () => {
    const startedAt = performance.now();
    while (started < wanted && !isClosed) {
      const passed = own.openAtOnce === undefined ? performance.now() - startedAt : Infinity;
      const planned = Math.ceil(Math.min(passed / spreadMs, 1) * wanted);
      const due = Math.min(planned, deliveries.length / webhooks.length + maxOpen, wanted);
      for (; started < due; started++) {
        begin(deliver(started));
        const forgeries = forgeriesBefore(started + 1) - forgeriesBefore(started);
        for (let one = 0; one < forgeries; one++) begin(forge(forgeriesBefore(started) + one));
      }
      await wait(TICK_MS);
    }
    await Promise.all(underWay);
  };
  const ended = run();
  ended.catch(() => undefined);

  return {
    /** Resolves when this share of the deliveries has started. From 0 to 1. */
    async begun(share: number) {
      while (started < share * wanted && !isClosed) await wait(TICK_MS);
    },
    /** Resolves when each delivery has ended at the sender. */
    ended,
    deliveries,
    answers: genuine.answers,
    /** The delivery id under which a record is judged: with two webhooks, one of its two. */
    judgedId: (id: string) => firstIds.get(id) ?? id,
    forgedAnswers: forged.answers,
    forgedIds,
    /** Number of requests without forgeries. */
    requests: genuine.requests,
    /** Ends all running deliveries. */
    close: async () => {
      isClosed = true;
      await twin.close();
      await ended.catch(() => undefined);
    },
  };
}

function eventOf(number: number): TwinEvent {
  const seed = { seed: number };
  // Numbered: with two webhooks no two of the records may be alike.
  return number % 5 === 0
    ? { event: sampleOnlineDataEvent("DATA_REAPPEARED", { account_id: number + 1 }, seed) }
    : { alarm: sampleAlarm({ id: number + 1 }, seed) };
}
