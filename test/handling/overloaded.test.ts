import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, vi } from "vitest";
import type { DeliveryContext, TransactionalStore } from "../../src/index.js";
import { alarmReceiver, heldHandler, heldReceiver, heldRun } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred } from "../support/deferred.js";
import { delivery, NO_TIME_TO_WAIT, type DeliveryOverrides } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { failingStore, spiedStore } from "../support/spied-store.js";

/** A delivery that is refused if it does not get a place at once. */
const hurried = async (overrides: DeliveryOverrides) => ({
  ...(await delivery(overrides)),
  ...NO_TIME_TO_WAIT,
});

it("maxConcurrentDeliveries answers 503 before the claim, with a Retry-After of 10 to 40 s spread by id", async () => {
  const spy = spiedStore();
  const limited = { store: spy.store, maxConcurrentDeliveries: 1 };
  const { receiver, run, start, lines } = await heldRun(limited);
  const delays = new Set<number>();
  for (let at = 0; at < 300; at++) {
    const answer = await receiver.receive(await hurried({ id: `id-${String(at)}` }));
    expect(answer).toMatchObject({ status: 503, outcome: "overloaded" });
    delays.add(Number(answer.headers["retry-after"]));
  }
  expect(spy.calls).toHaveLength(1);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(10);
  expect(Math.max(...delays)).toBeLessThanOrEqual(40);
  expect(delays.size).toBeGreaterThan(25);
  const same = await hurried({ id: "id-0" });
  const [one, two] = [await receiver.receive(same), await receiver.receive(same)];
  expect(one.headers["retry-after"]).toBe(two.headers["retry-after"]);
  // A flood is logged as one line.
  expect(linesWith(lines, "overloaded")).toHaveLength(1);
  await run.succeed();
  const next = await start(await delivery({ id: "id-0" }));
  expect(await next.succeed()).toMatchObject({ outcome: "handled" });
});

it("maxConcurrentDeliveries counts the running handlers, in whatever order they end", async () => {
  const { receiver, start } = heldReceiver({ maxConcurrentDeliveries: 3 });
  let count = 0;
  const begin = async () => start(await delivery({ id: `id-${String(++count)}` }));
  const isFull = async () => {
    const { outcome } = await receiver.receive(await hurried({ id: "one-more" }));
    return outcome === "overloaded";
  };
  const runs = [await begin(), await begin(), await begin()];
  for (const place of [0, 1, 2, 1, 0, 2, 2]) {
    expect(await isFull()).toBe(true);
    const [ended] = runs.splice(place, 1);
    ended?.resolve();
    await ended?.answer;
    runs.push(await begin());
  }
  expect(await isFull()).toBe(true);
  for (const run of runs) run.resolve();
  await Promise.all(runs.map(({ answer }) => answer));
  const again = [await begin(), await begin(), await begin()];
  expect(await isFull()).toBe(true);
  for (const run of again) run.resolve();
});

it("a synchronous handler takes no slot of maxConcurrentDeliveries", async () => {
  const receiver = alarmReceiver(() => undefined, { maxConcurrentDeliveries: 1 });
  for (let at = 0; at < 3; at++) {
    const answer = await receiver.receive(await delivery({ id: `id-${String(at)}` }));
    expect(answer).toMatchObject({ outcome: "handled" });
  }
});

it("maxConcurrentDeliveries applies after the signature: a forgery is still a mismatch", async () => {
  const { receiver, run } = await heldRun({ maxConcurrentDeliveries: 1 });
  const forged = await delivery({ id: "forged", secret: "whsec_of_a_stranger" });
  expect(await receiver.receive(forged)).toMatchObject({ outcome: "signature_mismatch" });
  await run.succeed();
});

it("maxConcurrentDeliveries keeps no memory of 20 000 refused deliveries", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heapUsed = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const { handler, start } = heldHandler();
  const receiver = alarmReceiver(handler, { maxConcurrentDeliveries: 1 });
  const run = await start(receiver, await delivery());
  const refuse = async (count: number) => {
    for (let at = 0; at < count; at++) {
      const answer = await receiver.receive(await hurried({ id: `id-${String(at)}` }));
      if (answer.outcome !== "overloaded") throw new Error(answer.outcome);
    }
  };
  await refuse(2_000);
  const before = heapUsed();
  await refuse(20_000);
  expect(heapUsed() - before).toBeLessThan(2_000_000);
  await run.succeed();
});

it("deliveries beyond maxConcurrentDeliveries wait, hold no claim, and are handled first come, first served", async () => {
  vi.useFakeTimers();
  const spy = spiedStore();
  const began: string[] = [];
  const handler = async ({ id }: DeliveryContext) => {
    began.push(id);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  };
  const receiver = alarmReceiver(handler, { store: spy.store, maxConcurrentDeliveries: 2 });
  const ids = Array.from({ length: 50 }, (_, at) => `id-${String(at)}`);
  const requests = await Promise.all(ids.map((id) => delivery({ id })));
  const answers = requests.map((request) => receiver.receive(request));
  await vi.advanceTimersByTimeAsync(0);
  expect([began.length, spy.count("claim")]).toEqual([2, 2]);
  await vi.advanceTimersByTimeAsync(20_000);
  const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
  // 2 places and 19 s, since a handler takes one.
  expect(outcomes.filter((outcome) => outcome === "handled")).toHaveLength(38);
  expect(outcomes.slice(38)).toEqual(Array(12).fill("overloaded"));
  expect(began).toEqual(ids.slice(0, 38));
  expect(vi.getTimerCount()).toBe(0);
});

it("no delivery waits for a place on Cloudflare Workers, where one request must not wait for another", async () => {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const { receiver, run } = await heldRun({ maxConcurrentDeliveries: 1 });
  const other = await receiver.receive(await delivery({ id: "another" }));
  expect(other).toMatchObject({ outcome: "overloaded" });
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
});

it("a copy of a running delivery is in flight at once if no place is free", async () => {
  const { receiver, run, repeated } = await heldRun({ maxConcurrentDeliveries: 1 });
  expect(await receiver.receive(repeated)).toMatchObject({ status: 409, outcome: "in_flight" });
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
});

it("a delivery that waits for a place is answered draining by drain, and leaves if its sender hangs up", async () => {
  const { receiver, run, start } = await heldRun({ maxConcurrentDeliveries: 1 });
  let isDisconnected = false;
  const gone = { ...(await delivery({ id: "gone" })), isDisconnected: () => isDisconnected };
  const leaving = receiver.receive(gone);
  const starting = start(await delivery({ id: "waits" }));
  await nextTurn();
  isDisconnected = true;
  await run.succeed();
  expect(await leaving).toMatchObject({ outcome: "overloaded" });
  const next = await starting;
  const last = receiver.receive(await delivery({ id: "last" }));
  await nextTurn();
  const drained = receiver.drain();
  expect(await last).toMatchObject({ status: 503, outcome: "draining" });
  expect(await next.succeed()).toMatchObject({ outcome: "handled" });
  expect(await drained).toEqual({ idle: true, running: 0 });
});

it("maxConcurrentDeliveries counts a late handler until it settles", async () => {
  vi.useFakeTimers();
  const limits = { maxConcurrentDeliveries: 1, handlerTimeoutMs: 100 };
  const { receiver, run, start } = await heldRun(limits);
  await vi.advanceTimersByTimeAsync(100);
  expect(await run.answer).toMatchObject({ outcome: "handler_timeout" });
  const other = await delivery({ id: "another" });
  const refused = await receiver.receive({ ...other, ...NO_TIME_TO_WAIT });
  expect(refused).toMatchObject({ outcome: "overloaded" });
  run.resolve();
  await vi.advanceTimersByTimeAsync(0);
  const next = await start(other);
  expect(await next.succeed()).toMatchObject({ outcome: "handled" });
});

it("maxConcurrentDeliveries releases a place in the end if the runtime ended the request and its timers", async () => {
  vi.useFakeTimers();
  const { receiver, start } = heldReceiver({
    maxConcurrentDeliveries: 1,
    handlerTimeoutMs: 1_000,
    handlerMaxMs: 2_000,
    dependencyTimeoutMs: 100,
  });
  await start();
  vi.clearAllTimers();
  const other = await delivery({ id: "another" });
  await vi.advanceTimersByTimeAsync(2_399);
  const refused = await receiver.receive({ ...other, ...NO_TIME_TO_WAIT });
  expect(refused).toMatchObject({ outcome: "overloaded" });
  await vi.advanceTimersByTimeAsync(1);
  const run = await start(other);
  expect(await run.succeed()).toMatchObject({ outcome: "handled" });
});

it("maxConcurrentDeliveries releases the place of every outcome", async () => {
  const error = new Error("failed");
  const ends = [
    () => undefined,
    () => Promise.resolve(),
    throwing(error),
    () => Promise.reject(error),
  ];
  let at = 0;
  const { store, comeBack, goDown } = failingStore("claim");
  comeBack();
  const receiver = alarmReceiver(() => ends[at]?.(), { store, maxConcurrentDeliveries: 1 });
  const outcomes: string[] = [];
  const receive = async (id: string) => {
    outcomes.push((await receiver.receive(await delivery({ id }))).outcome);
  };
  for (at = 0; at < ends.length; at++) await receive(`id-${String(at)}`);
  await receive("id-0"); // a duplicate
  goDown();
  await receive("id-9");
  comeBack();
  at = 0;
  await receive("id-9");
  expect(outcomes).toEqual([
    "handled",
    "handled",
    "handler_failed",
    "handler_failed",
    "duplicate",
    "store_unavailable",
    "handled",
  ]);
});

it.each([
  [1, undefined, 1],
  [2, undefined, 2],
  [1, 500, 1],
  [2, 1, 1],
  [undefined, 2, 2],
  ["many", 2, 2],
])(
  "a transactional store that names %j connections, with maxConcurrentDeliveries %j, runs %i at once",
  async (connections, maxConcurrentDeliveries, expected) => {
    const end = deferred();
    const running: string[] = [];
    const store = {
      maxConcurrentDeliveries: connections,
      async process(key, work) {
        running.push(key);
        await work({});
        return { state: "processed" };
      },
    } as TransactionalStore<object>;
    const options = { store, maxConcurrentDeliveries } as object;
    const receiver = alarmReceiver(() => end.promise, options);
    const requests = await Promise.all(["one", "two", "three"].map((id) => delivery({ id })));
    const answers = requests.map((request) => receiver.receive(request));
    await nextTurn();
    expect(running).toHaveLength(expected);
    end.resolve();
    const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["handled", "handled", "handled"]);
  },
);

it.each([0, -1, 1.5, 1_000_001, "10"])("concurrency %j is refused", (maxConcurrentDeliveries) => {
  expect(() => alarmReceiver(() => undefined, { maxConcurrentDeliveries } as object)).toThrow(
    "maxConcurrentDeliveries must be a whole number from 1 to 1000000",
  );
});
