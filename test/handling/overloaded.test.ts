import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ConcurrencyLimit } from "../../src/common/concurrency-limit.js";
import {
  DiscardDelivery,
  type DeliveryContext,
  type DeliveryStore,
  type TransactionalStore,
  type WebhookRequest,
  type WebhookResponse,
} from "../../src/index.js";
import {
  DUPLICATE,
  HANDLED,
  OVERLOADED,
  UNAVAILABLE,
  alarmReceiver,
  answerOf,
  heldRun,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never, type Deferred } from "../support/deferred.js";
import { alarmBody, delivery, NO_TIME_TO_WAIT, TEST_SECRET } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { rejects, throwing } from "../support/faults.js";
import { trustingReceiver } from "../support/recording-receiver.js";
import { failingStore, spiedStore } from "../support/spied-store.js";
import {
  createDatabase,
  type DatabaseFaults,
} from "../support/transactional/transactional-database.js";

type Options = Parameters<typeof alarmReceiver>[1];

/** A store, and the ids that it was asked for. */
type MakeStore = (faults?: DatabaseFaults) => {
  readonly store: DeliveryStore;
  readonly calls: () => readonly string[];
};

const leased: MakeStore = () => {
  const { store, calls } = spiedStore();
  const claims = () => calls.flatMap(({ method, key }) => (method === "claim" ? [key] : []));
  return { store, calls: claims };
};

const transactional: MakeStore = (faults) => {
  const { store, calls } = createDatabase(faults);
  return { store: store as object as DeliveryStore, calls: () => calls };
};

/** Lets everything happen that waits for no timer. */
const settle = () => pass(0);

/** A receiver with so many places, whose handler runs until the test ends it by its id. */
function scene(makeStore: MakeStore, places: number, options?: Options, faults?: DatabaseFaults) {
  const runs = new Map<string, Deferred<void> & { readonly context: DeliveryContext }>();
  const began: string[] = [];
  const handler = (context: DeliveryContext) => {
    const run = { ...deferred(), context };
    runs.set(context.id, run);
    began.push(context.id);
    return run.promise;
  };
  const { store, calls } = makeStore(faults);
  const limits = { handlerTimeoutMs: 2_000, handlerMaxMs: 10_000, dependencyTimeoutMs: 1_000 };
  const given = { store, ...limits, maxConcurrentDeliveries: places, ...options };
  const made = observedAlarmReceiver(handler, given);
  const answers = new Map<string, WebhookResponse>();
  const receive = (id: string, request: WebhookRequest) => {
    const answer = made.receiver.receive(request);
    void answer.then((given) => answers.set(id, given));
    return answer;
  };
  return {
    ...made,
    calls,
    began,
    answers,
    receive,
    /** Sends a delivery. Its answer is in `answers`, unless it is still waiting or running. */
    async send(id: string, request: Partial<WebhookRequest> = {}, body?: string) {
      const sent = await delivery(body === undefined ? { id } : { id, body });
      return receive(id, { ...sent, ...request });
    },
    run(id: string) {
      const run = runs.get(id);
      if (run === undefined) throw new Error(`the handler does not run for ${id}`);
      return run;
    },
    async end(...ids: readonly string[]) {
      for (const id of ids) this.run(id).resolve();
      await settle();
    },
    /** Sends deliveries together and does not wait for their answers. */
    async begin(...ids: readonly string[]) {
      const requests = await Promise.all(ids.map((id) => delivery({ id })));
      for (const request of requests) void receive(request.headers["x-webhook-id"], request);
      await settle();
    },
    outcomeOf: (id: string) => answers.get(id)?.outcome,
  };
}

describe.each([
  ["a lease store", leased],
  ["a transactional store", transactional],
])("deliveries beyond maxConcurrentDeliveries with %s", (_kind, makeStore) => {
  beforeEach(() => vi.useFakeTimers());

  it("deliveries wait for a place and get it first come, first served", async () => {
    const on = scene(makeStore, 2);
    const ids = ["a", "b", "c", "d", "e"];
    await on.begin(...ids);
    expect(on.calls()).toEqual(["a", "b"]);
    await on.end("b");
    expect(on.calls()).toEqual(["a", "b", "c"]);
    // A newcomer gets no place that an earlier delivery waits for.
    on.run("a").resolve();
    await on.begin("f");
    expect(on.calls()).toEqual(["a", "b", "c", "d"]);
    await on.end("c", "d");
    await on.end("e", "f");
    expect(on.began).toEqual([...ids, "f"]);
    expect([...on.answers.values()].map(({ outcome }) => outcome)).toEqual(
      Array(6).fill("handled"),
    );
  });

  it("a delivery waits for a place until handlerTimeoutMs after its arrival, then is overloaded", async () => {
    const on = scene(makeStore, 1, { handlerMaxMs: 60_000 });
    await on.begin("a");
    const answer = on.send("b");
    await pass(1_999);
    expect(on.outcomeOf("b")).toBeUndefined();
    await pass(1);
    expect(await answerOf(answer)).toBe(OVERLOADED);
    await on.end("a");
    expect(on.calls()).toEqual(["a"]);
    await on.begin("b");
    await on.end("b");
    expect(on.outcomeOf("b")).toBe("handled");
  });

  it("a delivery waits shorter by the median of recent handlers, and at least half of dependencyTimeoutMs", async () => {
    const on = scene(makeStore, 1);
    /** Runs a handler for so long, and gives how long a delivery then waits. */
    const waitAfter = async (...handlersMs: readonly number[]) => {
      for (const ms of handlersMs) {
        await on.begin("before");
        await pass(ms);
        on.run("before").reject(new Error("again"));
        await settle();
      }
      await on.begin("a");
      const startedAt = performance.now();
      const waited = on.send("b").then(() => performance.now() - startedAt);
      await pass(2_000);
      on.run("a").reject(new Error("again"));
      await settle();
      return waited;
    };
    expect(await waitAfter(300, 300, 1_900)).toBe(1_700);
    // One handler of 2 000 ms ran since.
    expect(await waitAfter(1_900, 1_900, 1_900, 1_900)).toBe(500);
  });

  it("the answer is due handlerTimeoutMs after the arrival, the abort handlerTimeoutMs after the start", async () => {
    const on = scene(makeStore, 1);
    await on.begin("a", "b");
    await pass(400);
    await on.end("a");
    const { signal } = on.run("b").context;
    await pass(1_599);
    expect(on.outcomeOf("b")).toBeUndefined();
    await pass(1);
    expect([on.outcomeOf("b"), signal.aborted]).toEqual(["handler_timeout", false]);
    const message = "the delivery, from its arrival on, took longer than 2000 ms";
    expect(on.reports.find(({ id }) => id === "b")?.error).toMatchObject({ message });
    await pass(399);
    expect(signal.aborted).toBe(false);
    await pass(1);
    expect(signal.aborted).toBe(true);
    await on.end("b");
    expect(on.reports.at(-1)).toMatchObject({ id: "b", outcome: "handled", late: true });
  });

  it("a handler that starts when the answer is already due still runs, and its delivery is handled", async () => {
    const secret = deferred<string>();
    const on = scene(makeStore, 1, {
      secret: () => secret.promise,
      handlerTimeoutMs: 500,
    });
    void on.send("a");
    await pass(600);
    secret.resolve(TEST_SECRET);
    await pass(1);
    expect([on.began, on.outcomeOf("a")]).toEqual([["a"], "handler_timeout"]);
    await on.end("a");
    expect(on.reports.at(-1)).toMatchObject({ id: "a", outcome: "handled", late: true });
    expect((await on.send("a")).outcome).toBe("duplicate");
  });

  it("a delivery that waits does so for no longer than its platform lets it run", async () => {
    const on = scene(makeStore, 1);
    await on.begin("a");
    const hostDeadline = { handlerUntil: Infinity, handlerMs: () => 20, storeMs: () => 20 };
    const answer = on.send("b", { hostDeadline });
    await pass(20);
    expect((await answer).outcome).toBe("overloaded");
    await on.end("a");
  });

  it("two copies of a delivery wait for a place, and one of them is handled", async () => {
    const on = scene(makeStore, 2);
    await on.begin("a", "c");
    const request = await delivery({ id: "b" });
    const copies = [on.receive("b", request), on.receive("b", request)];
    await settle();
    expect(on.answers.size).toBe(0);
    await on.end("a", "c");
    expect(await copies[1]).toMatchObject({ status: 409, outcome: "in_flight" });
    await on.end("b");
    expect(await copies[0]).toMatchObject({ outcome: "handled" });
    expect(on.calls()).toEqual(["a", "c", "b"]);
  });

  it("drain answers the deliveries that wait for a place, and waits for those that run", async () => {
    const on = scene(makeStore, 1);
    await on.begin("a", "b", "c");
    const drained = on.receiver.drain();
    await settle();
    expect(on.answers.get("b")).toMatchObject({ status: 503, outcome: "draining" });
    expect(on.answers.get("b")?.headers).toHaveProperty("retry-after");
    expect([on.outcomeOf("a"), on.outcomeOf("c")]).toEqual([undefined, "draining"]);
    await on.end("a");
    expect(await drained).toEqual({ idle: true, running: 0 });
    expect([on.calls(), on.outcomeOf("a")]).toEqual([["a"], "handled"]);
  });

  it("a delivery whose secret arrives during drain runs if a place is free, and waits for none", async () => {
    const secret = deferred<string>();
    const on = scene(makeStore, 1, { secret: () => secret.promise });
    await on.begin("a", "b");
    const drained = on.receiver.drain();
    secret.resolve(TEST_SECRET);
    await settle();
    expect(on.outcomeOf("b")).toBe("draining");
    await on.end("a");
    expect([on.outcomeOf("a"), await drained]).toEqual(["handled", { idle: true, running: 0 }]);
  });

  it("a delivery whose sender hung up while it waited takes no place", async () => {
    const on = scene(makeStore, 1);
    let isDisconnected = false;
    await on.begin("a");
    void on.send("gone", { isDisconnected: () => isDisconnected });
    const throws = throwing(new Error("no socket"));
    void on.send("b", { isDisconnected: throws });
    await settle();
    isDisconnected = true;
    await on.end("a");
    expect(on.calls()).toEqual(["a", "b"]);
    const report = on.reports.find(({ id }) => id === "gone");
    expect(report).toMatchObject({ outcome: "overloaded", disconnected: true });
    // At the head of the queue it leaves as soon as another delivery arrives.
    void on.send("gone", { isDisconnected: () => isDisconnected });
    isDisconnected = false;
    await settle();
    on.answers.clear();
    isDisconnected = true;
    await on.begin("c");
    expect(on.outcomeOf("gone")).toBe("overloaded");
    await on.end("b");
    await on.end("c");
    expect(on.calls()).toEqual(["a", "b", "c"]);
  });

  it("a sender that hangs up after a wait is still reported", async () => {
    const on = scene(makeStore, 1);
    let isDisconnected = false;
    await on.begin("a");
    void on.send("b", { isDisconnected: () => isDisconnected });
    await settle();
    await on.end("a");
    isDisconnected = true;
    await on.end("b");
    const report = on.reports.find(({ id }) => id === "b");
    expect(report).toMatchObject({ outcome: "handled", disconnected: true });
  });

  it("a late handler keeps its place until it has settled", async () => {
    const on = scene(makeStore, 1);
    await on.begin("a");
    await pass(2_000);
    expect(on.outcomeOf("a")).toBe("handler_timeout");
    await on.begin("b");
    await pass(300);
    expect([on.calls(), on.outcomeOf("b")]).toEqual([["a"], undefined]);
    await on.end("a");
    await on.end("b");
    expect(on.outcomeOf("b")).toBe("handled");
  });

  it("a delivery whose runtime ended it while it waited takes no place", async () => {
    const on = scene(makeStore, 1);
    await on.begin("a", "b");
    // None of the timers of its request is called any more.
    vi.clearAllTimers();
    await pass(2_000);
    await on.begin("c");
    await on.end("a");
    expect(on.calls()).toEqual(["a", "c"]);
    await on.end("c");
    expect(on.outcomeOf("c")).toBe("handled");
  });

  it("a place whose runtime ended its request is free in the end", async () => {
    const on = scene(makeStore, 1);
    await on.begin("a");
    vi.clearAllTimers();
    await pass(13_999);
    void on.send("b");
    await settle();
    await pass(1);
    await on.begin("c");
    expect(on.calls()).toEqual(["a", "b"]);
    await on.end("b");
    await on.end("c");
    expect([on.outcomeOf("b"), on.outcomeOf("c")]).toEqual(["handled", "handled"]);
  });

  type End = (run: Deferred<void>) => void;
  const succeed: End = ({ resolve }) => resolve();
  const endings: readonly [string, End, number, number, string, DatabaseFaults?][] = [
    ["fails", ({ reject }) => reject(new Error("no")), 200, 200, "handler_failed"],
    ["discards", ({ reject }) => reject(new DiscardDelivery()), 200, 200, "discarded"],
    ["is given up", () => undefined, 0, 10_000, "handler_timeout"],
  ];
  const commits: typeof endings = [
    ["cannot commit", succeed, 200, 200, "store_unavailable", { commit: rejects }],
    ["hangs in COMMIT", succeed, 0, 1_000, "store_unavailable", { commit: never }],
  ];
  it.each(makeStore === transactional ? [...endings, ...commits] : endings)(
    "a delivery that %s leaves its place to the next",
    async (_how, end, endsAtMs, leavesAtMs, outcome, faults = {}) => {
      const on = scene(makeStore, 1, {}, faults);
      await on.begin("a");
      setTimeout(() => end(on.run("a")), endsAtMs);
      await pass(leavesAtMs - 100);
      await on.begin("b");
      await pass(99);
      expect(on.calls()).not.toContain("b");
      await pass(1);
      expect([on.outcomeOf("a"), on.began]).toEqual([outcome, ["a", "b"]]);
      delete faults.commit;
      await on.end("b");
      expect(on.outcomeOf("b")).toBe("handled");
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

it("64 MiB of bodies wait for a place, and the next one is overloaded at once", async () => {
  vi.useFakeTimers();
  const on = scene(leased, 1, { maxBodyBytes: 64 * 1_048_576 });
  // A small body counts as 4 KiB.
  const large = alarmBody().padEnd(64 * 1_048_576 - 2 * 4_096);
  await on.begin("a");
  void on.send("b", {}, large);
  void on.send("c");
  let isDisconnected = false;
  void on.send("d", { isDisconnected: () => isDisconnected });
  await settle();
  expect(on.answers.size).toBe(0);
  expect((await on.send("e")).outcome).toBe("overloaded");
  // One that has hung up makes room.
  isDisconnected = true;
  void on.send("f");
  await settle();
  expect([on.outcomeOf("d"), on.outcomeOf("f")]).toEqual(["overloaded", undefined]);
  for (const id of ["a", "b", "c", "f"]) await on.end(id);
  expect(on.began).toEqual(["a", "b", "c", "f"]);
});

it("maxConcurrentDeliveries answers 503 before the claim, with a Retry-After of 10 to 40 s spread by id", async () => {
  const { store, calls } = spiedStore();
  const { receiver, run, start, lines } = await heldRun({ store, maxConcurrentDeliveries: 1 });
  const refuse = async (at: number) => {
    const sent = { ...(await delivery({ id: `id-${String(at)}` })), ...NO_TIME_TO_WAIT };
    const answer = await receiver.receive(sent);
    expect(await answerOf(answer)).toBe(OVERLOADED);
    return Number(answer.headers["retry-after"]);
  };
  const delays = new Set<number>();
  for (let at = 0; at < 300; at++) delays.add(await refuse(at));
  expect(calls).toHaveLength(1);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(10);
  expect(Math.max(...delays)).toBeLessThanOrEqual(40);
  expect(delays.size).toBeGreaterThan(25);
  expect(await refuse(0)).toBe(await refuse(0));
  // A flood is logged as one line.
  expect(linesWith(lines, "overloaded")).toHaveLength(1);
  await run.succeed();
  const next = await start(await delivery({ id: "id-0" }));
  expect(await answerOf(next.succeed())).toBe(HANDLED);
});

it("a synchronous handler takes no slot of maxConcurrentDeliveries", async () => {
  const receiver = alarmReceiver(() => undefined, { maxConcurrentDeliveries: 1 });
  for (const id of ["one", "two", "three"]) expect(await send(receiver, id)).toBe(HANDLED);
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
  const held = deferred();
  const { receiver } = trustingReceiver({
    handlers: { new_alarm: () => held.promise },
    maxConcurrentDeliveries: 1,
    // It would keep its reports.
    onOutcome: undefined,
  });
  const { headers, ...rest } = await delivery();
  const answer = receiver.receive({ headers, ...rest });
  const refuse = async (count: number) => {
    for (let at = 0; at < count; at++) {
      const named = { ...headers, "x-webhook-id": `id-${String(at)}` };
      const sent = { ...rest, headers: named, ...NO_TIME_TO_WAIT };
      if ((await send(receiver, sent)) !== OVERLOADED) throw new Error("it has a place");
    }
  };
  await refuse(2_000);
  const before = heapUsed();
  await refuse(20_000);
  expect(heapUsed() - before).toBeLessThan(2_000_000);
  held.resolve();
  await answer;
});

it("no delivery waits for a place on Cloudflare Workers, where one request must not wait for another", async () => {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const { run, send } = await heldRun({ maxConcurrentDeliveries: 1 });
  expect(await send("another")).toBe(OVERLOADED);
  expect(await answerOf(run.succeed())).toBe(HANDLED);
});

it("a copy of a running delivery is in flight at once if no place is free", async () => {
  const { run, send } = await heldRun({ maxConcurrentDeliveries: 1 });
  expect(await send()).toBe("409 in_flight");
  expect(await answerOf(run.succeed())).toBe(HANDLED);
});

it("maxConcurrentDeliveries releases the place of a duplicate and of a claim that fails", async () => {
  const { store, comeBack, goDown } = failingStore("claim");
  comeBack();
  const { send } = observedAlarmReceiver(() => Promise.resolve(), {
    store,
    maxConcurrentDeliveries: 1,
  });
  expect(await send("one")).toBe(HANDLED);
  expect(await send("one")).toBe(DUPLICATE);
  goDown();
  expect(await send("more")).toBe(UNAVAILABLE);
  comeBack();
  expect(await send("more")).toBe(HANDLED);
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

it("a slot that was freed for its age frees no other one when its call ends after all", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const limit = new ConcurrencyLimit(2, 1_000);
  const old = [limit.enter(), limit.enter()];
  vi.advanceTimersByTime(999);
  expect(limit.isReached()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(limit.isReached()).toBe(false);
  limit.enter();
  const last = limit.enter();
  for (const slot of old) limit.leave(slot);
  expect(limit.isReached()).toBe(true);
  limit.leave(last);
  limit.leave(last);
  expect(limit.isReached()).toBe(false);
  limit.enter();
  expect(limit.isReached()).toBe(true);
});
