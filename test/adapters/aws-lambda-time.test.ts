import { beforeEach, describe, expect, test, vi } from "vitest";
import { lambdaHandler } from "../../adapters/aws-lambda/index.js";
import type { LambdaEvent } from "../../adapters/aws-lambda/http-event.js";
import {
  memoryStore,
  type DeliveryContext,
  type DeliveryStore,
  type TransactionalStore,
  type WebhookReceiver,
} from "../../src/index.js";
import {
  alarmReceiver,
  observedAlarmReceiver,
  type AlarmHandler,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { throws } from "../support/faults.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";
import { failingStore, spiedStore } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

/** The time-out of the function, whose margin is one second. */
const TIMEOUT_MS = 10_000;
const LEASE_MS = 3_000;
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function eventOf(): Promise<LambdaEvent> {
  const { headers, body } = await delivery();
  return { httpMethod: "POST", headers, body: String(body) };
}

/** Waits until a signal aborts. */
const aborted = (signal: AbortSignal) =>
  new Promise((resolve) => signal.addEventListener("abort", resolve));

/** The context of an invocation that begins now. */
function contextOf(timeoutMs = TIMEOUT_MS) {
  const endsAt = Date.now() + timeoutMs;
  return { getRemainingTimeInMillis: () => endsAt - Date.now() };
}

/** An invocation under way. */
async function invoke(
  receiver: WebhookReceiver,
  options?: Parameters<typeof lambdaHandler>[1],
  timeoutMs?: number,
) {
  const event = await eventOf();
  const startedAt = Date.now();
  let endedAt: number | undefined;
  const result = lambdaHandler(receiver, options)(event, contextOf(timeoutMs));
  void result.then(() => (endedAt = Date.now() - startedAt));
  return {
    result,
    /** When it returned, in milliseconds since its start; undefined while it runs. */
    ms: () => endedAt,
    /** Lets time pass, and then waits for the result. `timers` are those that are left. */
    after: async (ms: number) => {
      await pass(ms);
      const { statusCode: status } = await result;
      return { status, ms: endedAt, timers: vi.getTimerCount() };
    },
  };
}

type SceneOptions = Partial<CommonReceiverOptions> & { store?: DeliveryStore };

/** A receiver of one handler, with all that a test looks at. */
function scene(handler: AlarmHandler, { store, ...options }: SceneOptions = {}) {
  const contexts: DeliveryContext[] = [];
  const spy = spiedStore({}, store);
  const record: AlarmHandler = (context) => {
    contexts.push(context);
    return handler(context);
  };
  const given = { leaseMs: LEASE_MS, ...options, store: spy.store };
  return { ...observedAlarmReceiver(record, given), contexts, spy };
}

/** The same, and a first invocation. */
async function invoked(handler: AlarmHandler, options?: SceneOptions) {
  const made = scene(handler, options);
  return { ...made, ...(await invoke(made.receiver)) };
}

/** A store whose calls of some methods take a while. */
function slowStore(ms: Partial<Record<"claim" | "renew" | "complete" | "release", number>>) {
  const inner = memoryStore();
  const slowed = Object.entries(ms).map(([method, delayMs]) => {
    const call = inner[method as keyof typeof ms].bind(inner) as (...given: unknown[]) => unknown;
    return [method, (...given: unknown[]) => wait(delayMs).then(() => call(...given))];
  });
  return spiedStore(Object.fromEntries(slowed) as Partial<DeliveryStore>, inner).store;
}

describe("a handler that is slower than handlerTimeoutMs", () => {
  test("sees its signal abort after handlerTimeoutMs", async () => {
    const { contexts } = await invoked(() => wait(5_000), { handlerTimeoutMs: 1_000 });
    await pass(999);
    expect(contexts[0]?.signal.aborted).toBe(false);
    await pass(1);
    expect(contexts[0]?.signal.reason).toMatchObject({
      code: "deadline_exceeded",
      message: "the handler took longer than 1000 ms",
    });
  });

  test("is awaited when it fails, and its lease is released before the function returns", async () => {
    const fail = async (): Promise<never> => {
      await wait(5_000);
      throw new Error("no database");
    };
    const { spy, ms, after } = await invoked(fail, {
      handlerTimeoutMs: 1_000,
      store: slowStore({ release: 500 }),
    });
    await pass(5_499);
    expect([spy.count("release"), ms()]).toEqual([1, undefined]);
    expect(await after(100)).toMatchObject({ status: 500, timers: 0 });
  });
});

describe("a handler that still runs shortly before the function's time-out", () => {
  test("is given up: its signal aborts, the answer is 503 with Retry-After, and the lease is left to end", async () => {
    const { contexts, reports, spy, result, ms } = await invoked(() => never());
    await pass(8_999);
    expect([ms(), contexts[0]?.signal.aborted]).toEqual([undefined, false]);
    await pass(100);
    expect(await result).toMatchObject({
      statusCode: 503,
      headers: { "retry-after": "30" },
      body: expect.stringContaining("HANDLER_TIMEOUT") as string,
    });
    expect(ms()).toBeLessThan(9_010);
    expect(contexts[0]?.signal.reason).toMatchObject({ code: "deadline_exceeded" });
    expect(reports).toMatchObject([{ outcome: "handler_timeout", status: 503 }]);
    expect(spy.count("release")).toBe(0);
  });

  test("has all of its time for its completion if the process was frozen beyond the deadline", async () => {
    const held = deferred();
    const { lines, spy, after } = await invoked(() => held.promise, {
      store: slowStore({ complete: 100 }),
    });
    await pass(1_000);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 60_000);
    held.resolve();
    expect(await after(200)).toMatchObject({ status: 200 });
    expect(spy.count("complete")).toBe(1);
    // Another process may have taken it over meanwhile.
    expect(lines.map(({ message }) => message)).toEqual([
      expect.stringContaining("handled: it may have run twice"),
    ]);
  });

  test("is released before the function returns when it fails because its signal aborts", async () => {
    const fail: AlarmHandler = async ({ signal }) => {
      await aborted(signal);
      throw new Error("stopped");
    };
    const store = slowStore({ release: 300 });
    const { spy, lines, ms, after } = await invoked(fail, { store });
    await pass(9_299);
    expect([spy.count("release"), ms()]).toEqual([1, undefined]);
    expect(await after(100)).toMatchObject({ status: 503 });
    const line = "handler_failed, but after it was given up: it has stopped";
    expect(linesWith(lines, line)).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is remembered before the function returns when it succeeds a few steps after its signal aborts", async () => {
    const succeed: AlarmHandler = async ({ signal }) => {
      await aborted(signal);
      for (let step = 0; step < 50; step++) await Promise.resolve();
    };
    const store = slowStore({ complete: 300 });
    const { receiver, spy, lines, ms, after } = await invoked(succeed, { store });
    await pass(9_299);
    expect([spy.count("complete"), ms()]).toEqual([1, undefined]);
    expect(await after(100)).toMatchObject({ status: 503 });
    expect(linesWith(lines, "handled, but after it was given up")).toHaveLength(1);
    const next = await invoke(receiver);
    await pass(10);
    expect(await next.result).toMatchObject({ body: '{"outcome":"duplicate"}' });
  });

  test("is remembered when it succeeds in a process that was thawed", async () => {
    const work = deferred();
    const { receiver, spy, lines, contexts } = await invoked(() => work.promise);
    await pass(60_000);
    work.resolve();
    await pass(0);
    expect(spy.count("complete")).toBe(1);
    expect(linesWith(lines, "handled, but after it was given up")).toHaveLength(1);
    const { result } = await invoke(receiver);
    expect(await result).toMatchObject({ statusCode: 200, body: '{"outcome":"duplicate"}' });
    expect(contexts).toHaveLength(1);
  });

  test("does not disturb the run that took over when it fails in a process that was thawed", async () => {
    const work = deferred();
    const second = deferred();
    let runs = 0;
    const { receiver, spy } = await invoked(() =>
      (runs += 1) === 1 ? work.promise : second.promise,
    );
    await pass(20_000);
    const { after } = await invoke(receiver);
    work.reject(new Error("the socket was closed meanwhile"));
    await pass(0);
    expect(spy.count("release")).toBe(0);
    second.resolve();
    expect(await after(0)).toMatchObject({ status: 200 });
  });

  test("is given up after handlerMaxMs if that is sooner", async () => {
    const times = { handlerTimeoutMs: 1_000, handlerMaxMs: 2_000 };
    const { after } = await invoked(() => never(), times);
    expect(await after(2_100)).toMatchObject({ status: 503, ms: 2_000, timers: 0 });
  });
});

describe("marginMs", () => {
  test.each([
    [undefined, 10_000, 9_000],
    [3_000, 10_000, 7_000],
    [100, 3_000, 2_900],
    // At most half of the time, or a function with a short time-out could handle nothing.
    [undefined, 1_000, 500],
    [900_000, 10_000, 5_000],
  ])("with %s and %s ms left, a handler is given up after %s ms", async (marginMs, left, at) => {
    const { receiver, contexts } = scene(() => never());
    await invoke(receiver, { marginMs }, left);
    await pass(at - 1);
    expect(contexts[0]?.signal.aborted).toBe(false);
    await pass(2);
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  test.each([
    ["no context", undefined],
    ["a context without the remaining time", {}],
    ["a remaining time that is no number", { getRemainingTimeInMillis: () => Number.NaN }],
    ["a remaining time that throws", { getRemainingTimeInMillis: throws }],
    ["a remaining time that is no function", { getRemainingTimeInMillis: 5 }],
  ])("with %s, a handler has 15 minutes", async (_what, context) => {
    const { receiver } = scene(() => wait(800_000));
    const result = lambdaHandler(receiver)(await eventOf(), context as never);
    await pass(800_100);
    expect((await result).statusCode).toBe(200);
  });

  test("a function that has no time left answers 503 and runs nothing", async () => {
    const { receiver, contexts, spy } = scene(() => undefined);
    const { after } = await invoke(receiver, {}, 0);
    expect(await after(100)).toMatchObject({ status: 503 });
    expect([contexts.length, spy.calls.length]).toEqual([0, 0]);
  });
});

describe("a store that is slow", () => {
  test("does not hold up the 200 of a delivery that is handled beyond the function's time-out", async () => {
    const { reports, ms, after } = await invoked(() => wait(8_900), {
      store: slowStore({ complete: 5_000 }),
    });
    expect(await after(9_600)).toMatchObject({ status: 200 });
    expect(ms()).toBeCloseTo(9_500, -1);
    expect(reports).toMatchObject([{ outcome: "handled" }]);
  });

  test("that has not granted the claim at the deadline gives store_unavailable, and its late claim is released", async () => {
    const { contexts, reports, spy, result, ms } = await invoked(() => undefined, {
      leaseMs: 60_000,
      dependencyTimeoutMs: 20_000,
      store: slowStore({ claim: 15_000 }),
    });
    await pass(9_600);
    expect((await result).body).toContain("STORE_UNAVAILABLE");
    expect(ms()).toBe(9_500);
    await pass(10_000);
    expect(spy.count("release")).toBe(1);
    expect(contexts).toEqual([]);
    expect(reports).toMatchObject([{ outcome: "store_unavailable", status: 503 }]);
  });

  test("that fails to remember a delivery gets its completion again while the function waits, for five seconds", async () => {
    const { store, comeBack } = failingStore("complete", throws);
    const { after } = await invoked(() => undefined, { store });
    await pass(900);
    comeBack();
    expect(await after(200)).toMatchObject({ status: 200, ms: 1_000, timers: 0 });
  });

  test("that stays down holds up the answer for five seconds, since a later 200 would reach no one", async () => {
    const { store } = failingStore("complete");
    const { receiver } = scene(() => undefined, { store });
    const { after } = await invoke(receiver, {}, 60_000);
    expect(await after(5_100)).toMatchObject({ status: 200, ms: 5_000 });
  });

  test("that has a renewal on its way when the handler ends is awaited", async () => {
    const { after } = await invoked(() => wait(1_100), { store: slowStore({ renew: 700 }) });
    expect(await after(2_000)).toMatchObject({ status: 200, ms: 1_700, timers: 0 });
  });
});

describe("a transactional store", () => {
  /** Takes 200 ms to end a transaction, and records how each ended. */
  const transactions = (ended: string[], beginMs = 0): TransactionalStore<object> => ({
    async process(_key, work) {
      await wait(beginMs);
      try {
        await work({});
      } catch (error) {
        await wait(200);
        ended.push("rolled back");
        throw error;
      }
      await wait(200);
      ended.push("committed");
      return { state: "processed" };
    },
  });

  test("has rolled back a handler that is given up before the function returns", async () => {
    const ended: string[] = [];
    const { receiver, reports } = observedAlarmReceiver(() => never(), {
      store: transactions(ended) as never,
    });
    const { result, ms } = await invoke(receiver);
    await pass(9_199);
    expect([ended, ms()]).toEqual([[], undefined]);
    await pass(100);
    expect(await result).toMatchObject({ statusCode: 503, headers: { "retry-after": "30" } });
    expect(ended).toEqual(["rolled back"]);
    expect(reports).toMatchObject([{ outcome: "handler_timeout" }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("has committed a handler that is slower than handlerTimeoutMs before the function returns", async () => {
    const ended: string[] = [];
    const store = transactions(ended) as never;
    const receiver = alarmReceiver(() => wait(5_000), { handlerTimeoutMs: 1_000, store });
    const { after } = await invoke(receiver);
    expect(await after(5_300)).toMatchObject({ status: 200 });
    expect(ended).toEqual(["committed"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that begins after the deadline runs no handler and rolls back", async () => {
    const ended: string[] = [];
    const runs: unknown[] = [];
    const { receiver, reports } = observedAlarmReceiver((context) => runs.push(context), {
      dependencyTimeoutMs: 60_000,
      store: transactions(ended, 20_000) as never,
    });
    const { after } = await invoke(receiver);
    expect(await after(9_800)).toMatchObject({ status: 503 });
    await pass(20_000);
    expect([ended, runs]).toEqual([["rolled back"], []]);
    expect(reports).toMatchObject([{ outcome: "store_unavailable", status: 503 }]);
  });
});

test("a secret function that hangs is answered 503 with a log line before the time-out, and its delivery is not claimed later", async () => {
  const secret = deferred<string>();
  const runs: unknown[] = [];
  const spy = spiedStore();
  const { receiver, reports, lines } = observedAlarmReceiver((context) => runs.push(context), {
    dependencyTimeoutMs: 60_000,
    store: spy.store,
    secret: () => secret.promise,
  });
  const { result, ms } = await invoke(receiver);
  await pass(9_800);
  expect(await result).toMatchObject({ statusCode: 503, headers: { "retry-after": "30" } });
  expect(ms()).toBeCloseTo(9_750, -1);
  expect(linesWith(lines, "the function's time was up before the secret function")).toHaveLength(1);
  secret.resolve("whsec_test_0123456789abcdef");
  await pass(1_000);
  expect([runs, spy.calls]).toEqual([[], []]);
  expect(reports).toMatchObject([{ outcome: "store_unavailable", status: 503 }]);
});

describe("what goes on after the answer", () => {
  test("promises of onOutcome and onAuthenticDelivery are awaited", async () => {
    const ended: string[] = [];
    const slowly = (name: string) => async () => {
      await wait(1_000);
      ended.push(name);
    };
    const { after } = await invoked(() => undefined, {
      onOutcome: slowly("onOutcome"),
      onAuthenticDelivery: slowly("onAuthenticDelivery"),
    });
    expect(await after(1_000)).toMatchObject({ status: 200 });
    expect(ended).toEqual(["onOutcome", "onAuthenticDelivery"]);
  });

  test("a promise of onOutcome that rejects does not fail the invocation", async () => {
    const { after } = await invoked(() => undefined, {
      onOutcome: () => Promise.reject(new Error("the dashboard is down")),
    });
    expect(await after(100)).toMatchObject({ status: 200 });
  });

  test("a promise of onOutcome that never settles holds up the answer for five seconds", async () => {
    const { after } = await invoked(() => undefined, { onOutcome: () => never() });
    expect(await after(5_100)).toMatchObject({ status: 200, ms: 5_000, timers: 0 });
  });
});

describe("a receiver that a user has wrapped", () => {
  test("is answered 503 in its place if it has no answer shortly before the time-out", async () => {
    const receiver = alarmReceiver(() => undefined);
    const wrapped: WebhookReceiver = { ...receiver, receive: () => never() };
    const { result, ms } = await invoke(wrapped);
    await pass(9_800);
    expect(await result).toMatchObject({ statusCode: 503, headers: { "retry-after": "30" } });
    expect(ms()).toBeCloseTo(9_750, -1);
  });

  test("makes the invocation fail if it rejects", async () => {
    const receiver = alarmReceiver(() => undefined);
    const receive = () => Promise.reject(new Error("a bug of the wrapper"));
    const handle = lambdaHandler({ ...receiver, receive });
    await expect(handle(await eventOf(), contextOf())).rejects.toThrow("a bug of the wrapper");
    expect(vi.getTimerCount()).toBe(0);
  });
});
