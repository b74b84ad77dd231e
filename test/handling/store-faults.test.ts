import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import {
  HANDLED,
  IN_FLIGHT,
  UNAVAILABLE,
  answerOf,
  heldReceiver,
  heldRun,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never, watched } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { rejects, throws } from "../support/faults.js";
import { trustingReceiver } from "../support/recording-receiver.js";
import { firstCall, receiveUntil, spiedStore } from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

const CLAIMED: ClaimResult = { state: "claimed", takeover: false };

/** A receiver whose store claims like this. */
const claiming = (claim: () => unknown) =>
  observedAlarmReceiver(undefined, { store: { ...memoryStore(), claim } as DeliveryStore });

/** A claim result that cannot be read. */
const unreadable = (member: string): object =>
  Object.defineProperty({ state: "in_flight" }, member, { get: throws });

describe("failed claims", () => {
  it.each<[string, () => unknown]>([
    ["throws", throws],
    ["rejects", rejects],
    ["returns nothing", () => undefined],
    ["returns a string", () => "claimed"],
    ["returns an empty object", () => ({})],
    ["returns an unknown state", () => ({ state: "CLAIMED", takeover: false })],
    ["resolves to nothing", () => Promise.resolve(undefined)],
    ["returns what has no readable retryAfterMs", () => unreadable("retryAfterMs")],
    ["returns what has no readable state", () => unreadable("state")],
  ])("a claim is 503 and runs no handler if the store %s", async (_how, claim) => {
    const { send, runs, reports } = claiming(claim);
    expect(await send()).toBe(UNAVAILABLE);
    expect(runs).toEqual([]);
    expect(reports).toMatchObject([{ error: expect.any(Error) as Error }]);
  });

  it("the report names a claim without a result", async () => {
    const { send, reports } = claiming(() => undefined);
    await send();
    expect(reports[0]?.error).toMatchObject({ message: "store.claim returned no claim result" });
  });

  it("a claim that hangs is 503 after dependencyTimeoutMs, and the report names it with its limit", async () => {
    const store = { ...memoryStore(), claim: () => never<ClaimResult>() };
    const { receiver, reports, runs } = observedAlarmReceiver(undefined, { store });
    const { answer } = await receiveUntil(store, "claim", receiver);
    await pass(4_999);
    expect(reports).toEqual([]);
    await pass(1);
    expect(await answerOf(answer)).toBe(UNAVAILABLE);
    const message = "store.claim took longer than 5000 ms";
    expect(reports[0]).toMatchObject({ error: { name: "DeadlineError", message } });
    expect(runs).toEqual([]);
  });

  it("a claim result without takeover counts as no takeover", async () => {
    const { send, runs, reports } = claiming(() => ({ state: "claimed" }));
    await send();
    expect(runs[0]?.takeover).toBe(false);
    expect(reports[0]).not.toHaveProperty("takeover");
  });

  it.each<[object, string]>([
    [{ state: "completed", then: 5 }, "200 duplicate"],
    [{ state: "in_flight", retryAfterMs: 5_000, then: undefined }, IN_FLIGHT],
  ])("other members of the claim result %j have no effect", async (result, answer) => {
    expect(await claiming(() => result).send()).toBe(answer);
  });
});

describe("late claims", () => {
  /** A claim that is granted at once but whose result arrives after the gateway was answered. */
  async function lateClaim(faults: Partial<DeliveryStore> = {}, before?: ClaimResult) {
    const inner = memoryStore();
    const answered = deferred();
    const spy = spiedStore(
      {
        async claim(...call) {
          const isFirst = spy.count("claim") === 1;
          const result = before ?? (await inner.claim(...call));
          if (isFirst) await answered.promise;
          return result;
        },
        ...faults,
      },
      inner,
    );
    const observed = observedAlarmReceiver(undefined, { store: spy.store });
    const { answer } = await receiveUntil(spy.store, "claim", observed.receiver);
    await pass(5_000);
    expect(await answerOf(answer)).toBe(UNAVAILABLE);
    answered.resolve();
    await pass(0);
    return { spy, ...observed };
  }

  it("a late claim is released with its own owner, so that the redelivery runs at once", async () => {
    const { spy, send, runs } = await lateClaim();
    expect(spy.calls.map(({ method }) => method)).toEqual(["claim", "release"]);
    expect(spy.calls[1]?.owner).toBe(spy.calls[0]?.owner);
    expect(runs).toEqual([]);
    expect(await send()).toBe(HANDLED);
    expect(runs).toHaveLength(1);
  });

  it.each<ClaimResult>([{ state: "completed" }, { state: "in_flight", retryAfterMs: 1 }])(
    "a late claim is not released if its state is $state",
    async (before) => {
      const { spy } = await lateClaim({}, before);
      expect(spy.count("release")).toBe(0);
    },
  );

  it("a late claim that cannot be read has no effect", async () => {
    await lateClaim({}, unreadable("state") as ClaimResult);
    await pass(60_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["throws", throws],
    ["rejects", rejects],
  ])(
    "a late claim whose release always %s is refused until its lease ends by itself",
    async (_how, release) => {
      const { send, lines, runs } = await lateClaim({ release });
      expect(linesWith(lines, "release failed")).toHaveLength(1);
      expect(await send()).toBe(IN_FLIGHT);
      await pass(30_000);
      expect(await send()).toBe(HANDLED);
      expect(runs).toHaveLength(1);
    },
  );

  it("a late claim runs no handler if the delivery was handled here and only its completion is missing", async () => {
    const inner = memoryStore();
    const slow = deferred<ClaimResult>();
    const { store, count } = spiedStore({
      claim: (...call) => (count("claim") === 1 ? slow.promise : inner.claim(...call)),
      complete: rejects,
    });
    const { receiver, runs, start } = heldReceiver({ store });
    const { answer } = await receiveUntil(store, "claim", receiver);
    const run = await start();
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    slow.resolve({ state: "claimed", takeover: true });
    expect(await answerOf(answer)).toBe("200 duplicate");
    expect(runs).toHaveLength(1);
  });

  it("a claim that takes longer than half of its lease is released without running the handler", async () => {
    const slow = deferred<ClaimResult>();
    const { store, count } = spiedStore({ claim: () => slow.promise });
    const times = { leaseMs: 1_000, dependencyTimeoutMs: 5_000 };
    const { receiver, runs } = observedAlarmReceiver(undefined, { store, ...times });
    const { answer } = await receiveUntil(store, "claim", receiver);
    await pass(500);
    expect(await answerOf(answer)).toBe(UNAVAILABLE);
    slow.resolve(CLAIMED);
    await pass(0);
    expect(count("release")).toBe(1);
    expect(runs).toEqual([]);
  });

  it("a claim whose answer a frozen process reads after its lease runs no handler", async () => {
    const answered = deferred<ClaimResult>();
    const { store, count } = spiedStore({ claim: () => answered.promise });
    const { receiver, runs } = observedAlarmReceiver(undefined, { store });
    const { answer } = await receiveUntil(store, "claim", receiver);
    const thawedAt = performance.now() + 30_000;
    const clock = vi.spyOn(performance, "now").mockReturnValue(thawedAt);
    answered.resolve(CLAIMED);
    expect(await answerOf(answer)).toBe(UNAVAILABLE);
    clock.mockRestore();
    expect(runs).toEqual([]);
    expect(count("release")).toBe(1);
  });
});

describe("failed releases", () => {
  it.each<[string, () => Promise<void>]>([
    ["throws", throws],
    ["rejects", rejects],
    ["hangs", never<void>],
  ])(
    "a release that always fails changes no outcome and ends with its lease if the store %s",
    async (how, release) => {
      const error = new Error("the handler's own");
      const store: DeliveryStore = { ...memoryStore(), release };
      const observed = observedAlarmReceiver(
        () => {
          if (observed.runs.length === 1) throw error;
        },
        { store },
      );
      const { receiver, lines, reports, send } = observed;
      const { answer } = await receiveUntil(store, "release", receiver);
      if (how === "hangs") await pass(5_000);
      expect(await answerOf(answer)).toBe("500 handler_failed");
      expect(reports).toMatchObject([{ outcome: "handler_failed", error }]);
      expect(linesWith(lines, "release failed")).toHaveLength(1);
      expect(await send()).toBe(IN_FLIGHT);
      await pass(30_000);
      expect(await send()).toBe(HANDLED);
      expect(reports.at(-1)).toMatchObject({ takeover: true });
    },
  );

  it("a failure is answered when the store has released its claim, so that the next attempt can run", async () => {
    const released = deferred();
    const store: DeliveryStore = { ...memoryStore(), release: () => released.promise };
    const releasing = firstCall(store, "release");
    const { run } = await heldRun({ store });
    const { state } = watched(run.answer);
    run.reject(new Error("fails"));
    await releasing;
    await pass(0);
    expect(state.isResolved).toBe(false);
    released.resolve();
    expect(await answerOf(run.answer)).toBe("500 handler_failed");
  });

  it("a hanging release does not keep the lease: after it ends, a redelivery takes over", async () => {
    const spy = spiedStore({ release: never<void> });
    const releasing = firstCall(spy.store, "release");
    const times = { leaseMs: 3_000, dependencyTimeoutMs: 60_000 };
    const { run, start } = await heldRun({ store: spy.store, ...times });
    run.reject(new Error("failed"));
    await releasing;
    await pass(3_000);
    expect(spy.count("renew")).toBe(0);
    const next = await start();
    expect(next.context.takeover).toBe(true);
    expect(await answerOf(next.succeed())).toBe(HANDLED);
    await pass(60_000);
    expect(await answerOf(run.answer)).toBe("500 handler_failed");
  });
});

it("a process that was frozen for longer than the lease does not run the delivery twice at once", async () => {
  let skewMs = 0;
  const store = memoryStore({ now: () => performance.now() + skewMs });
  const { receiver, run, runs, start } = await heldRun({ store });
  skewMs = 3_600_000;
  await pass(10_000);
  expect(run.context.signal.aborted).toBe(true);
  expect(await send(receiver)).toBe(IN_FLIGHT);
  expect(await answerOf(run.fail(new Error("stopped by the signal")))).toBe("500 handler_failed");
  expect(await answerOf((await start()).succeed())).toBe(HANDLED);
  expect(runs).toHaveLength(2);
});

it("a report of an unsigned delivery has no secretIndex", async () => {
  const { receiver, reports } = trustingReceiver();
  await receiver.receive(await delivery());
  expect(reports[0]).toMatchObject({ outcome: "handled" });
  expect(reports[0]).not.toHaveProperty("secretIndex");
});

it.each<["complete" | "release" | "renew", string]>([
  ["complete", "completion failed: the delivery is handled, and the completion is retried"],
  [
    "release",
    "release failed: it is retried; the next attempt waits for it or for the end of the lease",
  ],
  ["renew", "renewal of the lease failed: retried until the lease ends"],
])("the log names a %s that hangs, with the delivery and its time limit", async (method, text) => {
  const store: DeliveryStore = { ...memoryStore(), [method]: () => never() };
  const called = firstCall(store, method);
  const { run, lines, repeated } = await heldRun({ store, handlerTimeoutMs: 60_000 });
  if (method === "renew") await pass(10_000);
  else if (method === "complete") run.resolve();
  else run.reject(new Error("failed"));
  await called;
  await pass(5_000);
  const id = repeated.headers["x-webhook-id"];
  expect(linesWith(lines, text)).toMatchObject([
    {
      level: "error",
      message: `identity-gateway-webhooks: ${text}`,
      details: { id, err: { message: `store.${method} took longer than 5000 ms` } },
    },
  ]);
  run.resolve();
  await pass(10_000);
  await run.answer;
});
