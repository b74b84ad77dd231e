import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DiscardDelivery, type WebhookRequest, type WebhookResponse } from "../../src/index.js";
import { deferred, never, type Deferred } from "../support/deferred.js";
import { alarm, delivery } from "../support/deliveries.js";
import { rejects, throwing } from "../support/faults.js";
import type { DatabaseFaults } from "../support/transactional/transactional-database.js";
import type { TransactionalOptions } from "../support/transactional/transactional-receiver.js";
import {
  transactionalScene,
  type SimulatedContext,
} from "../support/transactional/transactional-scene.js";

beforeEach(() => vi.useFakeTimers());

/** Lets everything happen that waits for no timer. */
const settle = () => vi.advanceTimersByTimeAsync(0);

/** A receiver with so many connections, whose handler runs until the test ends it by its id. */
function scene(connections: number, options: TransactionalOptions = {}, faults?: DatabaseFaults) {
  const runs = new Map<string, Deferred<void> & { readonly context: SimulatedContext }>();
  const began: string[] = [];
  const handler = async (context: SimulatedContext) => {
    const { promise, resolve, reject } = deferred();
    runs.set(context.id, { promise, resolve, reject, context });
    began.push(context.id);
    context.tx.write(context.id);
    await promise;
  };
  const limits = { handlerTimeoutMs: 2_000, handlerMaxMs: 10_000, dependencyTimeoutMs: 1_000 };
  const given = { ...limits, maxConcurrentDeliveries: connections, ...options };
  const made = transactionalScene(handler, faults, given);
  const answers = new Map<string, WebhookResponse>();
  const receive = (id: string, request: WebhookRequest) => {
    const answer = made.receiver.receive(request);
    void answer.then((given) => answers.set(id, given));
    return answer;
  };
  return {
    ...made,
    began,
    answers,
    receive,
    /** Sends a delivery. Its answer is in `answers`, unless it is still waiting or running. */
    async send(id: string, request: Partial<WebhookRequest> = {}, body?: string | Uint8Array) {
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
  };
}

/** Sends deliveries together and does not wait for their answers. */
async function begin(on: ReturnType<typeof scene>, ids: readonly string[]): Promise<void> {
  const requests = await Promise.all(ids.map((id) => delivery({ id })));
  for (const request of requests) void on.receive(request.headers["x-webhook-id"], request);
  await settle();
}

const outcomeOf = ({ answers }: ReturnType<typeof scene>, id: string) => answers.get(id)?.outcome;

describe("deliveries beyond the connections of a transactional store", () => {
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
  });

  it("deliveries wait for a connection and get it first come, first served", async () => {
    const on = scene(2);
    const ids = ["a", "b", "c", "d", "e"];
    await begin(on, ids);
    expect(on.calls).toEqual(["a", "b"]);
    await on.end("b");
    expect(on.calls).toEqual(["a", "b", "c"]);
    // A newcomer gets no connection that an earlier delivery waits for.
    on.run("a").resolve();
    await begin(on, ["f"]);
    expect(on.calls).toEqual(["a", "b", "c", "d"]);
    await on.end("c", "d");
    await on.end("e", "f");
    expect(on.began).toEqual([...ids, "f"]);
    expect(on.effects).toHaveLength(6);
    expect([...on.answers.values()].map(({ outcome }) => outcome)).toEqual(
      Array(6).fill("handled"),
    );
  });

  it("a delivery waits for a connection until handlerTimeoutMs after its arrival, then is overloaded", async () => {
    const on = scene(1, { handlerMaxMs: 60_000 });
    await begin(on, ["a"]);
    const answer = on.send("b");
    await vi.advanceTimersByTimeAsync(1_999);
    expect(outcomeOf(on, "b")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    const { status, outcome, headers } = await answer;
    expect([status, outcome]).toEqual([503, "overloaded"]);
    expect(Number(headers["retry-after"])).toBeGreaterThanOrEqual(10);
    expect(Number(headers["retry-after"])).toBeLessThanOrEqual(40);
    await on.end("a");
    expect(on.calls).toEqual(["a"]);
    await begin(on, ["b"]);
    await on.end("b");
    expect(outcomeOf(on, "b")).toBe("handled");
  });

  it("a delivery waits shorter by the median of recent handlers, and at least half of dependencyTimeoutMs", async () => {
    const on = scene(1);
    /** Runs a handler for so long, and gives how long a delivery then waits. */
    const waitAfter = async (...handlersMs: readonly number[]) => {
      for (const ms of handlersMs) {
        await begin(on, ["before"]);
        await vi.advanceTimersByTimeAsync(ms);
        on.run("before").reject(new Error("again"));
        await settle();
      }
      await begin(on, ["a"]);
      const startedAt = performance.now();
      const waited = on.send("b").then(() => performance.now() - startedAt);
      await vi.advanceTimersByTimeAsync(2_000);
      on.run("a").reject(new Error("again"));
      await settle();
      return waited;
    };
    expect(await waitAfter(300, 300, 1_900)).toBe(1_700);
    // One handler of 2 000 ms ran since.
    expect(await waitAfter(1_900, 1_900, 1_900, 1_900)).toBe(500);
  });

  it("the answer is due handlerTimeoutMs after the arrival, and the signal aborts handlerTimeoutMs after the start", async () => {
    const on = scene(1);
    await begin(on, ["a", "b"]);
    await vi.advanceTimersByTimeAsync(400);
    await on.end("a");
    const { signal } = on.run("b").context;
    await vi.advanceTimersByTimeAsync(1_599);
    expect(outcomeOf(on, "b")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect([outcomeOf(on, "b"), signal.aborted]).toEqual(["handler_timeout", false]);
    const message = "the delivery, from its arrival on, took longer than 2000 ms";
    expect(on.reports.find(({ id }) => id === "b")?.error).toMatchObject({ message });
    await vi.advanceTimersByTimeAsync(399);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal.aborted).toBe(true);
    await on.end("b");
    expect(on.effects).toHaveLength(2);
  });

  it("a handler that starts when the answer is already due still runs, and its delivery is handled", async () => {
    const secret = deferred<string>();
    const on = scene(1, {
      secret: () => secret.promise,
      handlerTimeoutMs: 500,
    } as TransactionalOptions);
    void on.send("a");
    await vi.advanceTimersByTimeAsync(600);
    secret.resolve("whsec_test_0123456789abcdef");
    await vi.advanceTimersByTimeAsync(1);
    expect([on.began, outcomeOf(on, "a")]).toEqual([["a"], "handler_timeout"]);
    await on.end("a");
    expect(on.reports.at(-1)).toMatchObject({ id: "a", outcome: "handled", late: true });
    expect((await on.send("a")).outcome).toBe("duplicate");
  });

  it("a delivery that waits does so for no longer than its platform lets it run", async () => {
    const on = scene(1);
    await begin(on, ["a"]);
    const hostDeadline = { handlerUntil: Infinity, handlerMs: () => 20, storeMs: () => 20 };
    const answer = on.send("b", { hostDeadline });
    await vi.advanceTimersByTimeAsync(20);
    expect((await answer).outcome).toBe("overloaded");
    await on.end("a");
  });

  it("64 MiB of bodies wait for a connection, and the next one is overloaded at once", async () => {
    const on = scene(1, { maxBodyBytes: 64 * 1_048_576 });
    // A small body counts as 4 KiB.
    const large = JSON.stringify({ alarm: alarm() }).padEnd(64 * 1_048_576 - 2 * 4_096);
    await begin(on, ["a"]);
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
    expect([outcomeOf(on, "d"), outcomeOf(on, "f")]).toEqual(["overloaded", undefined]);
    for (const id of ["a", "b", "c", "f"]) await on.end(id);
    expect(on.began).toEqual(["a", "b", "c", "f"]);
  });

  it("two copies of a delivery wait for a connection, and one of them is handled", async () => {
    const on = scene(2);
    await begin(on, ["a", "c"]);
    const request = await delivery({ id: "b" });
    const copies = [on.receive("b", request), on.receive("b", request)];
    await settle();
    expect(on.answers.size).toBe(0);
    await on.end("a", "c");
    expect(await copies[1]).toMatchObject({ status: 409, outcome: "in_flight" });
    await on.end("b");
    expect(await copies[0]).toMatchObject({ outcome: "handled" });
    expect(on.calls).toEqual(["a", "c", "b"]);
  });

  it("drain answers the deliveries that wait for a connection, and waits for those that run", async () => {
    const on = scene(1);
    await begin(on, ["a", "b", "c"]);
    const drained = on.receiver.drain();
    await settle();
    expect(on.answers.get("b")).toMatchObject({ status: 503, outcome: "draining" });
    expect(on.answers.get("b")?.headers).toHaveProperty("retry-after");
    expect([outcomeOf(on, "a"), outcomeOf(on, "c")]).toEqual([undefined, "draining"]);
    await on.end("a");
    expect(await drained).toEqual({ idle: true, running: 0 });
    expect([on.calls, outcomeOf(on, "a")]).toEqual([["a"], "handled"]);
  });

  it("a delivery whose secret arrives during drain runs if a connection is free, and waits for none", async () => {
    const secret = deferred<string>();
    const on = scene(1, { secret: () => secret.promise } as TransactionalOptions);
    await begin(on, ["a", "b"]);
    const drained = on.receiver.drain();
    secret.resolve("whsec_test_0123456789abcdef");
    await settle();
    expect(outcomeOf(on, "b")).toBe("draining");
    await on.end("a");
    expect([outcomeOf(on, "a"), await drained]).toEqual(["handled", { idle: true, running: 0 }]);
  });

  it("a delivery whose sender hung up while it waited takes no connection", async () => {
    const on = scene(1);
    let isDisconnected = false;
    await begin(on, ["a"]);
    void on.send("gone", { isDisconnected: () => isDisconnected });
    const throws = throwing(new Error("no socket"));
    void on.send("b", { isDisconnected: throws });
    await settle();
    isDisconnected = true;
    await on.end("a");
    expect(on.calls).toEqual(["a", "b"]);
    const report = on.reports.find(({ id }) => id === "gone");
    expect(report).toMatchObject({ outcome: "overloaded", disconnected: true });
    // At the head of the queue it leaves as soon as another delivery arrives.
    void on.send("gone", { isDisconnected: () => isDisconnected });
    isDisconnected = false;
    await settle();
    on.answers.clear();
    isDisconnected = true;
    await begin(on, ["c"]);
    expect(outcomeOf(on, "gone")).toBe("overloaded");
    await on.end("b");
    await on.end("c");
    expect(on.calls).toEqual(["a", "b", "c"]);
  });

  it("a sender that hangs up after a wait is still reported", async () => {
    const on = scene(1);
    let isDisconnected = false;
    await begin(on, ["a"]);
    void on.send("b", { isDisconnected: () => isDisconnected });
    await settle();
    await on.end("a");
    isDisconnected = true;
    await on.end("b");
    const report = on.reports.find(({ id }) => id === "b");
    expect(report).toMatchObject({ outcome: "handled", disconnected: true });
  });

  it("a late handler keeps its connection until it has settled", async () => {
    const on = scene(1);
    await begin(on, ["a"]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(outcomeOf(on, "a")).toBe("handler_timeout");
    await begin(on, ["b"]);
    await vi.advanceTimersByTimeAsync(300);
    expect([on.calls, outcomeOf(on, "b")]).toEqual([["a"], undefined]);
    await on.end("a");
    await on.end("b");
    expect(outcomeOf(on, "b")).toBe("handled");
  });

  type End = (run: Deferred<void>) => void;
  it.each<[string, End, number, number, string, DatabaseFaults?]>([
    ["fails", ({ reject }) => reject(new Error("no")), 200, 200, "handler_failed"],
    ["discards", ({ reject }) => reject(new DiscardDelivery()), 200, 200, "discarded"],
    ["is given up", () => undefined, 0, 10_000, "handler_timeout"],
    [
      "cannot commit",
      ({ resolve }) => resolve(),
      200,
      200,
      "store_unavailable",
      { commit: rejects },
    ],
    [
      "hangs in COMMIT",
      ({ resolve }) => resolve(),
      0,
      1_000,
      "store_unavailable",
      { commit: never },
    ],
  ])(
    "a delivery that %s leaves its connection to the next",
    async (_how, end, endsAtMs, leavesAtMs, outcome, faults = {}) => {
      const on = scene(1, {}, faults);
      await begin(on, ["a"]);
      setTimeout(() => end(on.run("a")), endsAtMs);
      await vi.advanceTimersByTimeAsync(leavesAtMs - 100);
      await begin(on, ["b"]);
      await vi.advanceTimersByTimeAsync(99);
      expect(on.calls).not.toContain("b");
      await vi.advanceTimersByTimeAsync(1);
      expect([outcomeOf(on, "a"), on.began]).toEqual([outcome, ["a", "b"]]);
      delete faults.commit;
      await on.end("b");
      expect(outcomeOf(on, "b")).toBe("handled");
    },
  );
});

it("a delivery whose runtime ended it while it waited takes no connection", async () => {
  const on = scene(1);
  await begin(on, ["a", "b"]);
  // None of the timers of its request is called any more.
  vi.clearAllTimers();
  await vi.advanceTimersByTimeAsync(2_000);
  await begin(on, ["c"]);
  await on.end("a");
  expect(on.calls).toEqual(["a", "c"]);
  await on.end("c");
  expect(outcomeOf(on, "c")).toBe("handled");
});

it("a connection whose runtime ended its request is free in the end", async () => {
  const on = scene(1);
  await begin(on, ["a"]);
  vi.clearAllTimers();
  await vi.advanceTimersByTimeAsync(13_999);
  void on.send("b");
  await settle();
  await vi.advanceTimersByTimeAsync(1);
  await begin(on, ["c"]);
  expect(on.calls).toEqual(["a", "b"]);
  await on.end("b");
  await on.end("c");
  expect([outcomeOf(on, "b"), outcomeOf(on, "c")]).toEqual(["handled", "handled"]);
});
