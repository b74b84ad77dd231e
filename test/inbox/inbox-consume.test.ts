import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  DiscardDelivery,
  RetryLater,
  createWebhookReceiver,
  memoryStore,
  type DeliveryStore,
  type TransactionalStore,
  type WebhookHandlers,
} from "../../src/index.js";
import {
  inbox,
  inboxConsume,
  type InboxConsumeOptions,
  type JobReport,
  type QueueConsumer,
  type QueueMessage,
  type QueueSettlement,
} from "../../src/inbox/index.js";
import { inboxJobOf, jobNameOf } from "../../src/inbox/inbox-job.js";
import { jobKeyOf } from "../../src/inbox/job-handling.js";
import { recoverRecord } from "../../src/management/recover-record.js";
import { deferred, never } from "../support/deferred.js";
import { rejects } from "../support/faults.js";
import { NOW_MS, TEST_SECRET, alarm, delivery } from "../support/deliveries.js";
import { alarmJob, watchedLog } from "../support/inbox/receiver-and-worker.js";
import { MemoryBroker, MemoryDriver } from "../support/inbox/memory-queue.js";

const LEASE_MS = 3_000;

/** The store, with `before` called ahead of each call. */
function storeBehind(before: (method: string) => void, store = memoryStore()): DeliveryStore {
  const call = <T>(method: string, run: () => T): T => {
    before(method);
    return run();
  };
  return {
    claim: (...args) => call("claim", () => store.claim(...args)),
    renew: (...args) => call("renew", () => store.renew(...args)),
    complete: (...args) => call("complete", () => store.complete(...args)),
    release: (...args) => call("release", () => store.release(...args)),
  };
}

/** A store that writes its calls into `events`, and fails as often as `failures` says. */
function watchedStore(events: string[], failures: Record<string, number> = {}): DeliveryStore {
  return storeBehind((method) => {
    const left = failures[method] ?? 0;
    events.push(left > 0 ? `${method} fails` : method);
    if (left === 0) return;
    failures[method] = left - 1;
    throw new Error("the store is away");
  });
}

/** A message that writes what is done with it into `events`. */
function watchedMessage(
  data: unknown,
  events: string[],
  given: Partial<QueueMessage> & { holds?: () => boolean } = {},
): QueueMessage & { readonly settled: QueueSettlement[] } {
  const { holds = () => true, ...rest } = given;
  const settled: QueueSettlement[] = [];
  return {
    id: "m-1",
    data,
    attempt: 1,
    settled,
    extend: () => {
      events.push("extend");
      return Promise.resolve(holds());
    },
    settle: (settlement) => {
      events.push(settlement.result);
      settled.push(settlement);
      return Promise.resolve(true);
    },
    ...rest,
  };
}

/** A worker that is called from outside. */
function worker<Tx = never>(
  options: Pick<InboxConsumeOptions<Tx>, "store" | "handlers"> & Partial<InboxConsumeOptions<Tx>>,
) {
  const reports: JobReport[] = [];
  const driver = { extends: "message" } as const;
  const onJob = (report: JobReport) => reports.push(report);
  const made = inboxConsume<Tx>({ driver, onJob, logger: false, leaseMs: LEASE_MS, ...options });
  return { ...made, reports };
}

/** A handler that runs until its signal aborts. */
const rejectsWhenAborted = (_alarm: unknown, { signal }: { signal: AbortSignal }) =>
  new Promise<void>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** Lets so much time pass while something runs to its end. */
async function during(ms: number, ran: Promise<unknown>): Promise<void> {
  await pass(ms);
  await ran;
}

const outcomesOf = (reports: readonly JobReport[]) => reports.map(({ outcome }) => outcome);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a worker of any queue", () => {
  it("has one store with its receiver, and runs each job once", async () => {
    const store = memoryStore();
    const driver = new MemoryDriver();
    const seen: string[] = [];
    const { stop } = inboxConsume({
      driver,
      store,
      logger: false,
      handlers: { new_alarm: (_, { id }) => void seen.push(id) },
    });
    const handlers = inbox({ driver });
    const options = { secret: TEST_SECRET, store, logger: false, now: () => NOW_MS } as const;
    const receiver = createWebhookReceiver({ ...options, maxBodyBytes: 50_000, handlers });
    expect(await receiver.receive(await delivery({ id: "a" }))).toMatchObject({ status: 200 });
    await driver.put(await alarmJob("a"));
    // The second job comes while the first one runs, and again after the lease.
    await pass(31_000);
    expect([seen, driver.broker.jobs.size]).toEqual([["a"], 0]);
    await stop();
  });

  it("logs each error of the queue once a minute", async () => {
    const { lines, logger } = watchedLog();
    let onError: (error: Error) => void = () => undefined;
    const receive: QueueConsumer["receive"] = (_, options) => {
      onError = (error) => options.onError(error);
      return { stop: () => Promise.resolve() };
    };
    worker({
      store: memoryStore(),
      handlers: { new_alarm: () => undefined },
      logger,
      driver: { extends: "message", receive },
    });
    const report = () => {
      for (const words of ["refused", "reset", "refused"]) onError(new Error(words));
    };
    report();
    await pass(59_000);
    report();
    expect(lines).toHaveLength(2);
    await pass(1_000);
    report();
    expect(lines).toHaveLength(4);
  });

  it("claims a key of at most 128 characters that no other delivery has", async () => {
    expect(await jobKeyOf("x".repeat(124))).toBe(`job#${"x".repeat(124)}`);
    const key = await jobKeyOf("x".repeat(125));
    expect(key).toMatch(/^job##[0-9a-f]{64}$/);
    const digest = key.replace(/^.*#/, "");
    const others = ["x".repeat(124) + "y", digest, `job.${digest}`];
    expect(await Promise.all(others.map(jobKeyOf))).not.toContain(key);
  });

  it("extends a message at once, and settles it after the completion", async () => {
    const events: string[] = [];
    const handlers = { new_alarm: () => void events.push("handler") };
    const { run, reports } = worker({ store: watchedStore(events), handlers });
    await run(watchedMessage(await alarmJob("a"), events));
    await run(watchedMessage(await alarmJob("a"), events));
    expect(events).toEqual([
      "extend",
      "claim",
      "handler",
      "complete",
      "done",
      "extend",
      "claim",
      "done",
    ]);
    expect(outcomesOf(reports)).toEqual(["handled"]);
  });

  it("extends the message while it retries a completion, and not later", async () => {
    const events: string[] = [];
    const store = watchedStore(events, { complete: 4 });
    const { run } = worker({ store, handlers: { new_alarm: () => undefined } });
    await during(10_000, run(watchedMessage(await alarmJob("a"), events)));
    expect(events.filter((event) => event === "complete fails")).toHaveLength(4);
    expect(events.slice(-2)).toEqual(["complete", "done"]);
    expect(events.filter((event) => event === "extend").length).toBeGreaterThanOrEqual(3);
    await pass(10 * LEASE_MS);
    expect(events.at(-1)).toBe("done");
  });

  it("does not settle a message that is lost before its completion", async () => {
    const events: string[] = [];
    const store = watchedStore(events, { complete: 1_000 });
    const seen: boolean[] = [];
    const handlers = {
      new_alarm: (_: unknown, context: { takeover: boolean }) => {
        seen.push(context.takeover);
      },
    };
    const { run, reports } = worker({ store, handlers });
    const job = await alarmJob("a");
    const message = watchedMessage(job, events, { holds: () => false });
    await during(3 * LEASE_MS, run(message));
    expect([message.settled, reports]).toEqual([[], []]);
    const other = worker({ store: { ...store, complete: () => undefined }, handlers });
    await other.run(watchedMessage(job, events, { attempt: 2 }));
    expect(seen).toEqual([false, true]);
  });

  it.each([
    ["handled", () => undefined],
    ["discarded", () => Promise.reject(new DiscardDelivery())],
  ])("keeps the next message of a %s job until its completion", async (_, new_alarm) => {
    const events: string[] = [];
    const failures = { complete: 1_000 };
    const handlers = { new_alarm };
    const { run } = worker({ store: watchedStore(events, failures), handlers });
    const job = await alarmJob("a");
    const lost = watchedMessage(job, events, { holds: () => false });
    await during(3 * LEASE_MS, run(lost));
    const again = watchedMessage(job, events, { attempt: 2 });
    await run(again);
    expect([lost.settled, again.settled]).toEqual([
      [],
      [{ result: "retry", afterMs: 10_000, isLeased: true }],
    ]);
    failures.complete = 0;
    await pass(60_000);
    const last = watchedMessage(job, events, { attempt: 3 });
    await run(last);
    expect(last.settled).toEqual([{ result: "done" }]);
  });

  it("postpones a delivery of another worker until the lease ends", async () => {
    const store = memoryStore();
    store.claim("job#a", "other", { leaseMs: 20_000, retentionMs: 1e9 });
    const { run, reports } = worker({ store, handlers: { new_alarm: () => undefined } });
    const message = watchedMessage(await alarmJob("a"), [], { attempt: 99 });
    await run(message);
    expect(message.settled).toEqual([{ result: "retry", afterMs: 20_000, isLeased: true }]);
    expect(reports).toEqual([]);
  });

  it("postpones a job while the store is away, whatever its attempt", async () => {
    const store = watchedStore([], { claim: 1 });
    const { run, reports } = worker({ store, handlers: { new_alarm: () => undefined } });
    const message = watchedMessage(await alarmJob("a"), [], { attempt: 99 });
    await run(message);
    expect([message.settled, reports]).toEqual([[{ result: "retry", afterMs: 10_000 }], []]);
  });

  it.each<[string, Partial<QueueMessage> & { holds?: () => boolean }]>([
    ["an extension says so", { holds: () => false }],
    ["the driver says so", { lost: AbortSignal.timeout(1) }],
  ])("aborts the signal of the handler when the message is lost: %s", async (_, given) => {
    let reason: unknown;
    const new_alarm = (_alarm: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise<void>((resolve, reject) => {
        const end = () => {
          reason = signal.reason;
          reject(new Error("cut off"));
        };
        if (signal.aborted) end();
        else signal.addEventListener("abort", end);
      });
    const { run, reports } = worker({ store: memoryStore(), handlers: { new_alarm } });
    const message = watchedMessage(await alarmJob("a"), [], given);
    const ran = run(message);
    await pass(LEASE_MS);
    vi.useRealTimers();
    await ran;
    expect(reason).toMatchObject({ code: "job_lock_lost" });
    expect(message.settled).toEqual([]);
    expect(outcomesOf(reports)).toEqual(["handler_failed"]);
  });

  it("fails a run after handlerMaxMs, and says when the handler ends", async () => {
    const { lines, logger } = watchedLog();
    const store = memoryStore();
    const new_alarm = () => new Promise<void>((resolve) => setTimeout(resolve, 5_000));
    const { run } = worker({ store, handlers: { new_alarm }, handlerMaxMs: 2_000, logger });
    const message = watchedMessage(await alarmJob("a"), []);
    await during(2_000, run(message));
    expect(message.settled).toMatchObject([{ result: "retry", error: { code: "job_failed" } }]);
    expect(store.claim("job#a", "other", { leaseMs: 1_000, retentionMs: 1e9 })).toMatchObject({
      state: "in_flight",
    });
    await pass(5_000);
    expect(lines.join()).toContain("it may have run twice");
  });

  it.each<[string, () => unknown, number, object]>([
    ["nothing thrown", () => undefined, 1, { result: "done" }],
    ["DiscardDelivery", () => Promise.reject(new DiscardDelivery()), 1, { result: "done" }],
    ["an error", () => Promise.reject(new Error("x")), 1, { result: "retry", afterMs: 10_000 }],
    ["an error again", () => Promise.reject(new Error("x")), 3, { afterMs: 40_000 }],
    ["RetryLater", () => Promise.reject(new RetryLater({ afterMs: 7_000 })), 3, { afterMs: 7_000 }],
    ["the last error", () => Promise.reject(new Error("x")), 15, { result: "dead" }],
    ["the last RetryLater", () => Promise.reject(new RetryLater()), 15, { result: "dead" }],
  ])("settles a message after %s", async (_, new_alarm, attempt, settlement) => {
    const { run } = worker({ store: memoryStore(), handlers: { new_alarm } });
    const message = watchedMessage(await alarmJob("a"), [], { attempt });
    await run(message);
    expect(message.settled).toMatchObject([settlement]);
    // The engine keeps no word of the body.
    expect(JSON.stringify(message.settled)).not.toContain("account");
  });

  it("obeys an engine that gives up sooner, and buries what it cannot read", async () => {
    const { run, reports } = worker({
      store: memoryStore(),
      handlers: { new_alarm: () => undefined },
    });
    const message = watchedMessage({ some: "thing" }, [], { attempt: 2, maxAttempts: 2 });
    await run(message);
    expect(message.settled).toMatchObject([{ result: "dead" }]);
    expect(reports).toMatchObject([
      { outcome: "dead", id: "m-1", error: { code: "unreadable_job" } },
    ]);
  });

  it("runs the handler in the transaction that remembers the id", async () => {
    const events: string[] = [];
    const done = new Set<string>();
    const store: TransactionalStore<string> = {
      async process(key, work) {
        if (done.has(key)) return { state: "completed" };
        events.push("begin");
        await work("tx");
        done.add(key);
        events.push("commit");
        return { state: "processed" };
      },
    };
    const new_alarm = async (_: unknown, { tx, id }: { tx: string; id: string }) => {
      await new Promise((resolve) => setTimeout(resolve, LEASE_MS));
      events.push(`${tx} ${id}`);
    };
    const { run } = worker<string>({ store, handlers: { new_alarm } });
    for (let n = 0; n < 2; n += 1) {
      await during(2 * LEASE_MS, run(watchedMessage(await alarmJob("a"), events)));
    }
    const order = events.filter((event) => event !== "extend");
    expect(order).toEqual(["begin", "tx a", "commit", "done", "done"]);
    expect(events.filter((event) => event === "extend").length).toBeGreaterThanOrEqual(2);
  });

  it("stop takes no more jobs, aborts signals and waits for handlers", async () => {
    const driver = new MemoryDriver();
    const seen: string[] = [];
    const new_alarm = (_: unknown, { signal, id }: { signal: AbortSignal; id: string }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          seen.push(`${id} ${(signal.reason as { code: string }).code}`);
          setTimeout(resolve, 1_000);
        });
      });
    const { stop } = inboxConsume({
      driver,
      store: memoryStore(),
      handlers: { new_alarm },
      logger: false,
      concurrency: 1,
    });
    await driver.put(await alarmJob("a"));
    await driver.put(await alarmJob("b"));
    await pass(100);
    let isStopped = false;
    const stopping = stop().then(() => (isStopped = true));
    await pass(500);
    expect(isStopped).toBe(false);
    await pass(1_000);
    await stopping;
    expect(seen).toEqual(["a worker_stopping"]);
    expect(driver.broker.jobs.size).toBe(1);
  });

  it("stop never takes longer than its time limit", async () => {
    const receive: QueueConsumer["receive"] = () => ({
      stop: ({ timeoutMs = 0 } = {}) => new Promise((resolve) => setTimeout(resolve, timeoutMs)),
    });
    const { run, stop } = worker({
      store: memoryStore(),
      handlers: { new_alarm: () => never() },
      driver: { extends: "message", receive },
    });
    void run(watchedMessage(await alarmJob("a"), []));
    await pass(100);
    const startedAt = performance.now();
    const stopped = stop({ timeoutMs: 700 }).then(() => performance.now() - startedAt);
    await pass(5_000);
    // The last wait, of no time, is a timer too.
    expect(await stopped).toBeLessThanOrEqual(701);
  });

  it("stop waits for a hanging store no longer than dependencyTimeoutMs", async () => {
    const store = { ...memoryStore(), complete: () => never() };
    const options = { store, handlers: { new_alarm: () => undefined }, dependencyTimeoutMs: 300 };
    const { run, stop } = worker(options);
    for (const id of ["a", "b", "c"]) {
      void run(watchedMessage(await alarmJob(id), [], { holds: () => false }));
    }
    await pass(3 * LEASE_MS);
    const startedAt = performance.now();
    const stopped = stop().then(() => performance.now() - startedAt);
    await pass(60_000);
    expect(await stopped).toBeLessThanOrEqual(300);
  });

  it("a handler that rejects because of a stop costs its job no attempt", async () => {
    const made = worker({
      store: memoryStore(),
      handlers: { new_alarm: rejectsWhenAborted },
      retryLimit: 0,
    });
    const message = watchedMessage(await alarmJob("a"), []);
    const ran = made.run(message);
    await pass(100);
    void made.stop();
    await ran;
    expect(message.settled).toEqual([{ result: "retry", afterMs: 10_000 }]);
    expect(made.reports).toMatchObject([{ outcome: "handler_failed", lastAttempt: false }]);
  });

  it("a handler that always loses its lease uses up its attempts", async () => {
    const store = { ...memoryStore(), renew: () => false };
    const { run } = worker({ store, handlers: { new_alarm: rejectsWhenAborted }, retryLimit: 0 });
    const message = watchedMessage(await alarmJob("a"), []);
    await during(LEASE_MS, run(message));
    expect(message.settled).toMatchObject([{ result: "dead" }]);
  });

  it("a job is reported dead when the queue takes it late", async () => {
    const taken = deferred<boolean>();
    const handlers = { new_alarm: () => Promise.reject(new Error("x")) };
    const { run, reports } = worker({ store: memoryStore(), handlers, retryLimit: 0 });
    const message = watchedMessage(await alarmJob("a"), [], { settle: () => taken.promise });
    await during(10_000, run(message));
    expect(outcomesOf(reports)).toEqual(["handler_failed"]);
    taken.resolve(true);
    await pass(0);
    expect(outcomesOf(reports)).toEqual(["handler_failed", "dead"]);
  });

  it("a copy that meets its own lost lease comes again after a second", async () => {
    const ended = deferred();
    const store = { ...memoryStore(), renew: () => false };
    const { run } = worker({ store, handlers: { new_alarm: () => ended.promise } });
    const job = await alarmJob("a");
    const ran = run(watchedMessage(job, []));
    await pass(2 * LEASE_MS);
    const copy = watchedMessage(job, []);
    await run(copy);
    expect(copy.settled).toEqual([{ result: "retry", afterMs: 1_000, isLeased: true }]);
    ended.resolve();
    await ran;
  });

  it("a store learns its worker's time limit and where warnings go", async () => {
    const { lines, logger } = watchedLog();
    const inner = memoryStore({ maxEntries: 2 });
    let limitMs = 0;
    const store: DeliveryStore = {
      ...inner,
      connectReceiver(connection) {
        limitMs = connection.dependencyTimeoutMs;
        inner.connectReceiver?.(connection);
      },
    };
    const handlers = { new_alarm: () => undefined };
    const { run } = worker({ store, handlers, logger, dependencyTimeoutMs: 700 });
    for (const id of ["a", "b", "c", "d"]) await run(watchedMessage(await alarmJob(id), []));
    expect(limitMs).toBe(700);
    expect(lines).toHaveLength(1);
    expect(lines.join()).toContain("the memory store forgets ids");
  });

  it.each(["claim", "renew"] as const)(
    "a store whose %s hangs is given up after dependencyTimeoutMs",
    async (method) => {
      const { lines, logger } = watchedLog();
      const ended = deferred();
      const { run } = worker({
        store: { ...memoryStore(), [method]: () => never() },
        handlers: { new_alarm: () => ended.promise },
        logger,
        dependencyTimeoutMs: 200,
      });
      void run(watchedMessage(await alarmJob("a"), []));
      await pass(LEASE_MS / 3 + 200);
      const err = { message: `store.${method} took longer than 200 ms` };
      expect(lines[0]?.[1]).toMatchObject({ err });
      ended.resolve();
      await pass(1_000);
    },
  );

  it.each<[string, object, string]>([
    ["no store", { store: undefined }, "store must be given"],
    ["no driver", { driver: undefined }, "driver must be"],
    ["no handlers", { handlers: {} }, "handlers: give"],
    ["an overflow without get", { overflow: { put: () => undefined } }, "the function get"],
    ["a concurrency of 0", { concurrency: 0 }, "concurrency"],
    ["a text as onJob", { onJob: "log" }, "onJob must be a function"],
    ["a misspelt option", { lease: 1 }, "lease is no option of inboxConsume"],
  ])("%s is refused", (_, given, message) => {
    const good = {
      driver: { extends: "never" },
      store: memoryStore(),
      handlers: { new_alarm: () => 1 },
    };
    const make = () => inboxConsume({ ...good, ...given } as never);
    expect(make).toThrow(message);
  });
});

describe("whatever fails and in whichever order messages come", () => {
  const faults = fc.record({
    claim: fc.nat(2),
    renew: fc.nat(2),
    complete: fc.nat(6),
    release: fc.nat(2),
  });
  const runs = fc.array(
    fc.record({
      id: fc.constantFrom("a", "b"),
      afterMs: fc.constantFrom(0, 1, 3_000, 8_000),
      handlerMs: fc.constantFrom(0, 500, 2_500, 7_000),
      fails: fc.boolean(),
      isLost: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  );

  it("no delivery runs twice at once or after its completion, and a settled message is left alone", async () => {
    await fc.assert(
      fc.asyncProperty(faults, runs, async (failures, messages) => {
        const events: string[] = [];
        const running = new Set<string>();
        const completed = new Set<string>();
        const store = watchedStore([], { ...failures });
        const watched: DeliveryStore = {
          ...store,
          async complete(key, ...rest) {
            await store.complete(key, ...rest);
            completed.add(key);
          },
        };
        const byId = new Map<string, (typeof messages)[number]>();
        const handlers: WebhookHandlers = {
          async new_alarm(_, { id }) {
            if (running.has(id)) events.push(`${id} twice at once`);
            if (completed.has(`job#${id}`)) events.push(`${id} after its completion`);
            running.add(id);
            const { handlerMs = 0, fails } = byId.get(id) ?? {};
            if (handlerMs > 0) await new Promise((resolve) => setTimeout(resolve, handlerMs));
            running.delete(id);
            if (fails === true) throw new Error("made up");
          },
        };
        const { run } = worker({ store: watched, handlers });
        const ran = messages.map(async (given) => {
          const { afterMs } = given;
          if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
          byId.set(given.id, given);
          const own: string[] = [];
          await run(watchedMessage(await alarmJob(given.id), own, { holds: () => !given.isLost }));
          await pass(1);
          const at = own.findIndex((event) => event !== "extend");
          if (at !== -1 && at !== own.length - 1) events.push("used after its settlement");
          const isDone = own.includes("done");
          if (isDone && !completed.has(`job#${given.id}`))
            events.push("done before its completion");
        });
        await pass(60_000);
        await Promise.all(ran);
        expect(events).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a body that may be too large for the queue", () => {
  it("is refused when the receiver is made, unless there is an overflow", async () => {
    const driver = new MemoryDriver();
    const make = (handlers: WebhookHandlers) =>
      createWebhookReceiver({ secret: TEST_SECRET, logger: false, now: () => NOW_MS, handlers });
    const message = "maxBodyBytes must be at most 73464";
    expect(() => make(inbox({ driver }))).toThrow(message);
    expect(() =>
      make({ delete_my_data_event: { "*": inbox({ driver }).unrecognized as never } }),
    ).toThrow(message);
    const bodies = new Map<string, Uint8Array>();
    const overflow = {
      put: (key: string, body: Uint8Array) => Promise.resolve(bodies.set(key, body)),
      get: (key: string) => Promise.resolve(bodies.get(key) ?? new Uint8Array()),
    };
    const receiver = make(inbox({ driver, overflow }));
    const text = "x".repeat(200_000);
    const body = JSON.stringify({ alarm: alarm({ text }) });
    const large = await delivery({ id: "large", body });
    expect(await receiver.receive(large)).toMatchObject({ status: 200 });
    expect([...bodies.keys()]).toEqual(["large"]);
    const lengths: number[] = [];
    const handlers: WebhookHandlers = {
      new_alarm: (record) => void lengths.push(record.text.length),
    };
    const [stored] = driver.broker.jobs.values();
    const data = JSON.parse(stored?.data ?? "") as unknown;
    await worker({ store: memoryStore(), handlers, overflow }).run(watchedMessage(data, []));
    expect(lengths).toEqual([200_000]);
    const without = worker({ store: memoryStore(), handlers });
    const message2 = watchedMessage(data, []);
    await without.run(message2);
    expect(message2.settled).toMatchObject([{ result: "retry" }]);
  });

  describe("in an overflow that can delete", () => {
    /** A driver with `copies` jobs of one delivery whose body is in the overflow. */
    async function overflown(copies: number, remove?: () => Promise<unknown>) {
      const bodies = new Map<string, Uint8Array>();
      const get = (key: string) => {
        const body = bodies.get(key);
        return body === undefined ? Promise.reject(new Error("gone")) : Promise.resolve(body);
      };
      const overflow = {
        put: (key: string, body: Uint8Array) => Promise.resolve(bodies.set(key, body)),
        get,
        delete: remove ?? ((key: string) => Promise.resolve(bodies.delete(key))),
      };
      const driver = new MemoryDriver();
      const handlers = inbox({ driver, overflow });
      const body = JSON.stringify({ alarm: alarm({ text: "x".repeat(200_000) }) });
      const now = () => NOW_MS;
      for (let copy = 0; copy < copies; copy++) {
        // Each receiver has a memory of its own, as after a put whose answer was lost.
        const options = { secret: TEST_SECRET, logger: false, now, handlers } as const;
        await createWebhookReceiver(options).receive(await delivery({ id: "large", body }));
      }
      const jobs = [...driver.broker.jobs.values()];
      return {
        driver,
        bodies,
        overflow,
        jobs: jobs.map(({ data }) => JSON.parse(data) as unknown),
      };
    }

    it("a body leaves it when its job completes, and a copy is skipped", async () => {
      const { bodies, overflow, jobs } = await overflown(2);
      let runs = 0;
      const handlers: WebhookHandlers = { new_alarm: () => void (runs += 1) };
      const { run } = worker({ store: memoryStore(), handlers, overflow });
      for (const data of jobs) {
        const message = watchedMessage(data, []);
        await run(message);
        expect(message.settled).toEqual([{ result: "done" }]);
      }
      expect([runs, bodies.size]).toEqual([1, 0]);
    });

    it("a body stays while its job is to run again", async () => {
      const { bodies, overflow, jobs } = await overflown(1);
      const handlers: WebhookHandlers = { new_alarm: rejects };
      await worker({ store: memoryStore(), handlers, overflow }).run(watchedMessage(jobs[0], []));
      expect(bodies.size).toBe(1);
    });

    it("a job completes although its body cannot be deleted", async () => {
      const { overflow, jobs } = await overflown(1, rejects);
      const message = watchedMessage(jobs[0], []);
      const handlers: WebhookHandlers = { new_alarm: () => undefined };
      await worker({ store: memoryStore(), handlers, overflow }).run(message);
      expect(message.settled).toEqual([{ result: "done" }]);
    });

    it("the body of a record of a list has a key that is safe in a URL", async () => {
      const { driver, bodies, overflow } = await overflown(0);
      const receiver = createWebhookReceiver({
        secret: TEST_SECRET,
        logger: false,
        now: () => NOW_MS,
        store: memoryStore(),
        once: "record",
        handlers: inbox({ driver, overflow }),
      });
      const record = alarm({ text: "x".repeat(200_000) });
      await recoverRecord(receiver, { type: "new_alarm", record });
      const [key = ""] = bodies.keys();
      expect(key).toMatch(/^[0-9A-Za-z._-]{1,128}$/);
      const [job] = driver.take(1, 1_000);
      if (job !== undefined) driver.bury(job, new Error("dead"));
      const data = JSON.parse(job?.data ?? "") as unknown;
      const texts: string[] = [];
      const handlers: WebhookHandlers = { new_alarm: ({ text }) => void texts.push(text) };
      await worker({ store: memoryStore(), handlers, overflow }).run(watchedMessage(data, []));
      expect([texts, bodies.size]).toEqual([[record.text], 0]);
      bodies.set(key, new Uint8Array());
      const { discarded } = await driver.discard([jobNameOf(data).id ?? ""], { overflow });
      expect([discarded.length, bodies.size]).toEqual([1, 0]);
    });

    it("a body leaves it when the dead jobs of its account are discarded", async () => {
      const { driver, bodies, overflow } = await overflown(1);
      const [stored] = driver.take(1, 1_000);
      if (stored !== undefined) driver.bury(stored, new Error("dead"));
      const others = await driver.discard({ accountId: 7 }, { overflow });
      expect([others, bodies.size]).toEqual([{ discarded: [], notFound: [] }, 1]);
      const accountId = alarm().account_id;
      const { discarded } = await driver.discard({ accountId }, { overflow });
      expect([discarded, bodies.size]).toEqual([["large"], 0]);
    });
  });

  it("is refused if put of the overflow returns no promise", async () => {
    const driver = new MemoryDriver();
    const overflow = { put: () => undefined, get: () => never() };
    const handlers = inbox({ driver, overflow: overflow as never });
    const options = { secret: TEST_SECRET, logger: false, now: () => NOW_MS } as const;
    const { receive } = createWebhookReceiver({ ...options, handlers });
    const body = JSON.stringify({ alarm: alarm({ text: "x".repeat(200_000) }) });
    expect(await receive(await delivery({ body }))).toMatchObject({ status: 500 });
    expect(driver.broker.jobs.size).toBe(0);
  });

  it("fits as its driver says, whatever its bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3_000 }), (rawBody) => {
        const context = {
          id: "i".repeat(128),
          type: "t".repeat(128),
          timestamp: new Date(0),
          rawBody,
        };
        const job = inboxJobOf(context as never);
        expect(Buffer.byteLength(JSON.stringify(job))).toBeLessThan(
          rawBody.length * (4 / 3) + 2_048,
        );
      }),
    );
  });
});

describe("a job that kills its worker", () => {
  it.each([
    ["one worker", 1],
    ["four workers", 4],
  ])("with %s a job that kills each worker is dead after 15 crashes", async (_, size) => {
    const broker = new MemoryBroker();
    const store = memoryStore();
    const reports: JobReport[] = [];
    // What the metric of dead jobs counts, on which the alert is.
    const counted: string[] = [];
    const count = (_: unknown, { outcome }: { outcome: string }) => void counted.push(outcome);
    let crashes = 0;
    const start = (): void => {
      const driver = new MemoryDriver(broker);
      const assertAlive = () => {
        if (driver.isKilled) throw new Error("killed");
      };
      inboxConsume({
        driver,
        // A process that has ended renews and releases nothing more.
        store: storeBehind(assertAlive, store),
        leaseMs: 2_000,
        logger: false,
        onJob: (report) => reports.push(report),
        telemetry: { begin: () => 0, run: (_, __, call) => call(), end: count },
        handlers: {
          async new_alarm() {
            crashes += 1;
            driver.isKilled = true;
            start();
            await never();
          },
        },
      });
    };
    for (let n = 0; n < size; n += 1) start();
    await new MemoryDriver(broker).put(await alarmJob("a"));
    while (broker.dead.size === 0) await pass(1_000);
    expect([crashes, broker.jobs.size, [...broker.dead.keys()]]).toEqual([15, 0, ["a"]]);
    const dead = { outcome: "dead", lastAttempt: true, id: "a", error: { code: "dead_job" } };
    expect([reports, counted]).toMatchObject([[dead], ["dead"]]);
  });

  it("runs after 14 crashes, and is dead without a run after 15", async () => {
    const run = vi.fn();
    const settledAfter = async (crashes: number, store = memoryStore()) => {
      const message = watchedMessage(await alarmJob("a"), [], { crashes });
      await worker({ store, handlers: { new_alarm: run } }).run(message);
      return message.settled;
    };
    expect(await settledAfter(14)).toEqual([{ result: "done" }]);
    expect(run).toHaveBeenCalledTimes(1);
    const dead = { result: "dead", error: { code: "job_failed" } };
    expect(await settledAfter(15)).toMatchObject([dead]);
    const store = memoryStore();
    store.complete(await jobKeyOf("a"), "other", { retentionMs: 1e9 });
    expect(await settledAfter(15, store)).toEqual([{ result: "done" }]);
    expect(run).toHaveBeenCalledTimes(1);
  });
});
