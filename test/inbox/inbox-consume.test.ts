import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
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
import { recoverRecord } from "../../src/management/recover-delivery.js";
import { send } from "../support/alarm-receiver.js";
import { deferred, never } from "../support/deferred.js";
import { pass } from "../support/fake-time.js";
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

type Given = Partial<QueueMessage> & { readonly holds?: () => boolean };

/** A message, by default of the job `a`, that writes what is done with it into `events`. */
async function watchedMessage(
  { holds = () => true, data, ...rest }: Given = {},
  events: string[] = [],
): Promise<QueueMessage & { readonly settled: QueueSettlement[] }> {
  const settled: QueueSettlement[] = [];
  return {
    id: "m-1",
    data: data ?? (await alarmJob("a")),
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

/** A worker that is called from outside. By default its handler does nothing. */
function worker<Tx = never>(options: Partial<InboxConsumeOptions<Tx>> = {}) {
  const reports: JobReport[] = [];
  const made = inboxConsume<Tx>({
    driver: { extends: "message" },
    store: memoryStore(),
    handlers: { new_alarm: () => undefined },
    onJob: (report) => reports.push(report),
    logger: false,
    leaseMs: LEASE_MS,
    ...options,
  } as InboxConsumeOptions<Tx>);
  /** Runs a message. Resolves to how it was settled. */
  const settledBy = async (given?: Given) => {
    const message = await watchedMessage(given);
    await made.run(message);
    return message.settled;
  };
  return { ...made, reports, settledBy };
}

const receiverWith = (handlers: WebhookHandlers, options: object = {}) =>
  createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    now: () => NOW_MS,
    handlers,
    ...options,
  });

const largeDelivery = () =>
  delivery({
    id: "large",
    body: JSON.stringify({ alarm: alarm({ text: "x".repeat(200_000) }) }),
  });

/** A handler that runs until its signal aborts. */
const rejectsWhenAborted = (_alarm: unknown, { signal }: { signal: AbortSignal }) =>
  new Promise<void>((_resolve, reject) => {
    const end = () => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });

/** Lets so much time pass while something runs to its end. */
async function during(ms: number, ran: Promise<unknown>): Promise<void> {
  await pass(ms);
  await ran;
}

const outcomesOf = (reports: readonly JobReport[]) => reports.map(({ outcome }) => outcome);

beforeEach(() => vi.useFakeTimers());

describe("a worker of any queue", () => {
  it("logs each error of the queue once a minute", async () => {
    const { lines, logger } = watchedLog();
    let onError: (error: Error) => void = () => undefined;
    const receive: QueueConsumer["receive"] = (_, options) => {
      onError = (error) => options.onError(error);
      return { stop: () => Promise.resolve() };
    };
    worker({ logger, driver: { extends: "message", receive } });
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
    await run(await watchedMessage({}, events));
    await run(await watchedMessage({}, events));
    expect(events.join()).toBe("extend,claim,handler,complete,done,extend,claim,done");
    expect(outcomesOf(reports)).toEqual(["handled"]);
  });

  it("extends the message while it retries a completion, and not later", async () => {
    const events: string[] = [];
    const store = watchedStore(events, { complete: 4 });
    const { run } = worker({ store });
    await during(10_000, run(await watchedMessage({}, events)));
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
    const handlers: WebhookHandlers = { new_alarm: (_, { takeover }) => void seen.push(takeover) };
    const { run, reports } = worker({ store, handlers });
    const message = await watchedMessage({ holds: () => false }, events);
    await during(3 * LEASE_MS, run(message));
    expect([message.settled, reports]).toEqual([[], []]);
    const other = worker({ store: { ...store, complete: () => undefined }, handlers });
    await other.run(await watchedMessage({ attempt: 2 }, events));
    expect(seen).toEqual([false, true]);
  });

  it.each([
    ["handled", () => undefined],
    ["discarded", () => Promise.reject(new DiscardDelivery())],
  ])("keeps the next message of a %s job until its completion", async (_, new_alarm) => {
    const events: string[] = [];
    const failures = { complete: 1_000 };
    const store = watchedStore(events, failures);
    const { run, settledBy } = worker({ store, handlers: { new_alarm } });
    const lost = await watchedMessage({ holds: () => false }, events);
    await during(3 * LEASE_MS, run(lost));
    expect(lost.settled).toEqual([]);
    const retry = { result: "retry", afterMs: 10_000, isLeased: true };
    expect(await settledBy({ attempt: 2 })).toEqual([retry]);
    failures.complete = 0;
    await pass(60_000);
    expect(await settledBy({ attempt: 3 })).toEqual([{ result: "done" }]);
  });

  it("postpones a job while the store is away, whatever its attempt", async () => {
    const store = watchedStore([], { claim: 1 });
    const { settledBy, reports } = worker({ store });
    expect(await settledBy({ attempt: 99 })).toEqual([{ result: "retry", afterMs: 10_000 }]);
    expect(reports).toEqual([]);
  });

  it.each<[string, Given]>([
    ["an extension says so", { holds: () => false }],
    ["the driver says so", { lost: AbortSignal.timeout(1) }],
  ])("aborts the signal of the handler when the message is lost: %s", async (_, given) => {
    let reason: unknown;
    const new_alarm: typeof rejectsWhenAborted = async (record, context) => {
      await rejectsWhenAborted(record, context).catch((error: unknown) => (reason = error));
      throw new Error("cut off");
    };
    const { run, reports } = worker({ handlers: { new_alarm } });
    const message = await watchedMessage(given);
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
    const message = await watchedMessage();
    await during(2_000, run(message));
    expect(message.settled).toMatchObject([{ result: "retry", error: { code: "job_failed" } }]);
    expect(store.claim("job#a", "other", { leaseMs: 1_000, retentionMs: 1e9 })).toMatchObject({
      state: "in_flight",
    });
    await pass(5_000);
    expect(lines.join()).toContain("it may have run twice");
  });

  it.each<[string, () => unknown, number, object]>([
    ["an error", rejects, 3, { result: "retry", afterMs: 40_000 }],
    ["the last error", rejects, 15, { result: "dead" }],
    ["the last RetryLater", () => Promise.reject(new RetryLater()), 15, { result: "dead" }],
  ])("settles a message after %s", async (_, new_alarm, attempt, settlement) => {
    const { settledBy } = worker({ handlers: { new_alarm } });
    const settled = await settledBy({ attempt });
    expect(settled).toMatchObject([settlement]);
    // The engine keeps no word of the body.
    expect(JSON.stringify(settled)).not.toContain("account");
  });

  it("obeys an engine that gives up sooner, and buries what it cannot read", async () => {
    const { settledBy, reports } = worker();
    expect(await settledBy({ data: { some: "thing" }, attempt: 2, maxAttempts: 2 })).toMatchObject([
      { result: "dead" },
    ]);
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
      await during(2 * LEASE_MS, run(await watchedMessage({}, events)));
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
      handlers: { new_alarm: () => never() },
      driver: { extends: "message", receive },
    });
    void run(await watchedMessage());
    await pass(100);
    const startedAt = performance.now();
    const stopped = stop({ timeoutMs: 700 }).then(() => performance.now() - startedAt);
    await pass(5_000);
    // The last wait, of no time, is a timer too.
    expect(await stopped).toBeLessThanOrEqual(701);
  });

  it("stop waits for a hanging store no longer than dependencyTimeoutMs", async () => {
    const store = { ...memoryStore(), complete: () => never() };
    const { run, stop } = worker({ store, dependencyTimeoutMs: 300 });
    for (const id of ["a", "b", "c"]) {
      void run(await watchedMessage({ data: await alarmJob(id), holds: () => false }));
    }
    await pass(3 * LEASE_MS);
    const startedAt = performance.now();
    const stopped = stop().then(() => performance.now() - startedAt);
    await pass(60_000);
    expect(await stopped).toBeLessThanOrEqual(300);
  });

  it("a handler that rejects because of a stop costs its job no attempt", async () => {
    const handlers = { new_alarm: rejectsWhenAborted };
    const { settledBy, stop, reports } = worker({ handlers, retryLimit: 0 });
    const settled = settledBy();
    await pass(100);
    void stop();
    expect(await settled).toEqual([{ result: "retry", afterMs: 10_000 }]);
    expect(reports).toMatchObject([{ outcome: "handler_failed", lastAttempt: false }]);
  });

  it("a handler that always loses its lease uses up its attempts", async () => {
    const store = { ...memoryStore(), renew: () => false };
    const handlers = { new_alarm: rejectsWhenAborted };
    const settled = worker({ store, handlers, retryLimit: 0 }).settledBy();
    await pass(LEASE_MS);
    expect(await settled).toMatchObject([{ result: "dead" }]);
  });

  it("a job is reported dead when the queue takes it late", async () => {
    const taken = deferred<boolean>();
    const { settledBy, reports } = worker({ handlers: { new_alarm: rejects }, retryLimit: 0 });
    await during(10_000, settledBy({ settle: () => taken.promise }));
    expect(outcomesOf(reports)).toEqual(["handler_failed"]);
    taken.resolve(true);
    await pass(0);
    expect(outcomesOf(reports)).toEqual(["handler_failed", "dead"]);
  });

  it("a copy that meets its own lost lease comes again after a second", async () => {
    const ended = deferred();
    const store = { ...memoryStore(), renew: () => false };
    const { settledBy } = worker({ store, handlers: { new_alarm: () => ended.promise } });
    const ran = settledBy();
    await pass(2 * LEASE_MS);
    expect(await settledBy()).toEqual([{ result: "retry", afterMs: 1_000, isLeased: true }]);
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
    const { settledBy } = worker({ store, logger, dependencyTimeoutMs: 700 });
    for (const id of ["a", "b", "c", "d"]) await settledBy({ data: await alarmJob(id) });
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
      void run(await watchedMessage());
      await pass(LEASE_MS / 3 + 200);
      const err = { message: `store.${method} took longer than 200 ms` };
      expect(lines[0]?.[1]).toMatchObject({ err });
      ended.resolve();
      await pass(1_000);
    },
  );

  it.each<[object, string]>([
    [{ store: undefined }, "store must be given"],
    [{ driver: undefined }, "driver must be"],
    [{ handlers: {} }, "handlers: give"],
    [{ overflow: { put: () => undefined } }, "the function get"],
    [{ concurrency: 0 }, "concurrency"],
    [{ onJob: "log" }, "onJob must be a function"],
    [{ logger: { warn: () => undefined } }, "logger must have the methods warn and error"],
  ])("refuses %o: %s", (given, message) => {
    expect(() => worker(given)).toThrow(message);
  });
});

describe("a body that may be too large for the queue", () => {
  it("is refused when the receiver is made, unless there is an overflow", async () => {
    const driver = new MemoryDriver();
    const message = "maxBodyBytes must be at most 73464";
    const ofEvents = { "*": inbox({ driver }).unrecognized as never };
    for (const handlers of [inbox({ driver }), { delete_my_data_event: ofEvents }]) {
      expect(() => receiverWith(handlers)).toThrow(message);
    }
    const bodies = new Map<string, Uint8Array>();
    const overflow = {
      put: (key: string, body: Uint8Array) => Promise.resolve(bodies.set(key, body)),
      get: (key: string) => Promise.resolve(bodies.get(key) ?? new Uint8Array()),
    };
    const receiver = receiverWith(inbox({ driver, overflow }));
    expect(await send(receiver, await largeDelivery())).toBe("200 handled");
    expect([...bodies.keys()]).toEqual(["large"]);
    const lengths: number[] = [];
    const handlers: WebhookHandlers = {
      new_alarm: (record) => void lengths.push(record.text.length),
    };
    const [stored] = driver.broker.jobs.values();
    const data = JSON.parse(stored?.data ?? "") as unknown;
    await worker({ handlers, overflow }).settledBy({ data });
    expect(lengths).toEqual([200_000]);
    expect(await worker({ handlers }).settledBy({ data })).toMatchObject([{ result: "retry" }]);
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
      for (let copy = 0; copy < copies; copy++) {
        // Each receiver has a memory of its own, as after a put whose answer was lost.
        await receiverWith(handlers).receive(await largeDelivery());
      }
      const stored = [...driver.broker.jobs.values()];
      const jobs = stored.map(({ data }) => JSON.parse(data) as unknown);
      return { driver, bodies, overflow, jobs };
    }

    it("a body leaves it when its job completes, and a copy is skipped", async () => {
      const { bodies, overflow, jobs } = await overflown(2);
      let runs = 0;
      const handlers: WebhookHandlers = { new_alarm: () => void (runs += 1) };
      const { settledBy } = worker({ handlers, overflow });
      for (const data of jobs) expect(await settledBy({ data })).toEqual([{ result: "done" }]);
      expect([runs, bodies.size]).toEqual([1, 0]);
    });

    it("a body stays while its job is to run again", async () => {
      const { bodies, overflow, jobs } = await overflown(1);
      await worker({ handlers: { new_alarm: rejects }, overflow }).settledBy({ data: jobs[0] });
      expect(bodies.size).toBe(1);
    });

    it("a job completes although its body cannot be deleted", async () => {
      const { overflow, jobs } = await overflown(1, rejects);
      const settled = await worker({ overflow }).settledBy({ data: jobs[0] });
      expect(settled).toEqual([{ result: "done" }]);
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
      await worker({ handlers, overflow }).settledBy({ data });
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
    const receiver = receiverWith(inbox({ driver, overflow: overflow as never }));
    expect(await send(receiver, await largeDelivery())).toBe("500 handler_failed");
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
  it("is dead after 15 crashes, whichever of four workers runs it", async () => {
    const broker = new MemoryBroker();
    const store = memoryStore();
    const reports: JobReport[] = [];
    // What the metric of dead jobs counts, on which the alert is.
    const counted: string[] = [];
    const count = (_: unknown, { outcome }: { outcome: string }) => void counted.push(outcome);
    let crashes = 0;
    const start = () => {
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
    for (let n = 0; n < 4; n += 1) start();
    await new MemoryDriver(broker).put(await alarmJob("a"));
    while (broker.dead.size === 0) await pass(1_000);
    expect([crashes, broker.jobs.size, [...broker.dead.keys()]]).toEqual([15, 0, ["a"]]);
    const dead = { outcome: "dead", lastAttempt: true, id: "a", error: { code: "dead_job" } };
    expect([reports, counted]).toMatchObject([[dead], ["dead"]]);
  });

  it("is done after 15 crashes if another worker has completed its delivery", async () => {
    const store = memoryStore();
    store.complete(await jobKeyOf("a"), "other", { retentionMs: 1e9 });
    const { settledBy } = worker({ store, handlers: { new_alarm: () => expect.fail("it ran") } });
    expect(await settledBy({ crashes: 15 })).toEqual([{ result: "done" }]);
  });
});
