import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { memoryStore, type DeliveryStore, type WebhookReceiver } from "../../src/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { delivery } from "../support/deliveries.js";
import { createDatabase } from "../support/transactional/transactional-database.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";

const COPIES = 200;
const LIMIT = 10;

/** What happened to the deliveries of one receiver. */
function watchedHandler(isAsync: boolean) {
  const seen = { runs: [] as string[], running: 0, mostAtOnce: 0 };
  const begin = (id: string): void => {
    seen.runs.push(id);
    seen.running += 1;
    seen.mostAtOnce = Math.max(seen.mostAtOnce, seen.running);
  };
  const atOnce = ({ id }: { readonly id: string }): void => {
    begin(id);
    seen.running -= 1;
  };
  const later = async ({ id }: { readonly id: string }): Promise<void> => {
    begin(id);
    await nextTurn();
    seen.running -= 1;
  };
  return { seen, handler: isAsync ? later : atOnce };
}

type Handler = ReturnType<typeof watchedHandler>["handler"];

function asyncStore(): DeliveryStore {
  const store = memoryStore();
  return {
    claim: async (...given) => (await nextTurn(), store.claim(...given)),
    renew: async (...given) => (await nextTurn(), store.renew(...given)),
    complete: async (...given) => (await nextTurn(), store.complete(...given)),
    release: async (...given) => (await nextTurn(), store.release(...given)),
  };
}

const options = { maxConcurrentDeliveries: LIMIT, handlerTimeoutMs: 600_000 };

const receivers: readonly (readonly [string, (handler: Handler) => WebhookReceiver])[] = [
  ["the memory store", (handler) => alarmReceiver(handler, options)],
  [
    "a store over a network",
    (handler) => alarmReceiver(handler, { ...options, store: asyncStore() }),
  ],
  [
    "a transactional store",
    (handler) => transactionalReceiver(createDatabase().store, handler, options),
  ],
];

const copy = await delivery({ id: "the-copied-one" });
const others = Array.from({ length: COPIES }, (_, at) => delivery({ id: `id-${String(at)}` }));
/** Each copy of one delivery beside a delivery of its own. */
const requests = (await Promise.all(others)).flatMap((other) => [copy, other]);

function counted(answers: readonly { readonly outcome: string }[]) {
  const counts: Record<string, number> = {};
  for (const { outcome } of answers) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

describe.each(receivers)("with %s, 200 copies and 200 other deliveries in one tick", (_, make) => {
  it.each([
    ["at once", false],
    ["later", true],
  ])("are each handled once, ten at a time, by a handler that ends %s", async (_end, isAsync) => {
    const { seen, handler } = watchedHandler(isAsync);
    const receiver = make(handler);
    const answers = await Promise.all(requests.map((request) => receiver.receive(request)));
    const { handled, duplicate = 0, in_flight = 0 } = counted(answers);
    expect(handled).toBe(COPIES + 1);
    expect(duplicate + in_flight).toBe(COPIES - 1);
    expect(new Set(seen.runs).size).toBe(seen.runs.length);
    expect(seen.mostAtOnce).toBeLessThanOrEqual(LIMIT);
    expect(receiver.health()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it.each([
    ["in the same tick", 0],
    ["a few turns later", 5],
  ])("are handled or sent again if the receiver is drained %s", async (_when, turns) => {
    const { seen, handler } = watchedHandler(true);
    const receiver = make(handler);
    const early = requests.slice(0, COPIES).map((request) => receiver.receive(request));
    for (let turn = 0; turn < turns; turn++) await nextTurn();
    const draining = receiver.drain();
    const late = requests.slice(COPIES).map((request) => receiver.receive(request));
    expect(counted(await Promise.all(late))).toEqual({ draining: COPIES });
    expect(await draining).toEqual({ idle: true, running: 0 });
    const {
      handled = 0,
      duplicate = 0,
      in_flight = 0,
      draining: refused = 0,
    } = counted(await Promise.all(early));
    expect(handled).toBe(seen.runs.length);
    expect(handled).toBeGreaterThan(0);
    expect(handled + duplicate + in_flight + refused).toBe(COPIES);
    expect(new Set(seen.runs).size).toBe(seen.runs.length);
    expect(seen.mostAtOnce).toBeLessThanOrEqual(LIMIT);
    expect(receiver.health()).toMatchObject({ inFlight: 0, waiting: 0 });
  });
});
