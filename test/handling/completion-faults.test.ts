import { beforeEach, expect, it, vi } from "vitest";
import { DiscardDelivery, memoryStore, type DeliveryStore } from "../../src/index.js";
import {
  DUPLICATE,
  HANDLED,
  IN_FLIGHT,
  answerOf,
  heldReceiver,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { trustingReceiver } from "../support/recording-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { DOWN, rejects, throws } from "../support/faults.js";
import {
  claimedElsewhere,
  failingStore,
  firstCall,
  heldCompletions,
  openWork,
  receiveUntil,
} from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

type Options = NonNullable<Parameters<typeof observedAlarmReceiver>[1]>;

/** A receiver on a store whose completions fail like this while it is down. */
function failing(fault: () => Promise<never> = rejects, options: Options = {}) {
  const failed = failingStore("complete", fault);
  return { ...failed, ...observedAlarmReceiver(undefined, { ...options, store: failed.store }) };
}

/** A receiver on a store whose completions end as the test says. */
function held(options: Options = {}) {
  const { store, ends } = heldCompletions();
  const observed = observedAlarmReceiver(undefined, { ...options, store });
  /** Receives a delivery whose first completion fails. */
  const failFirst = async (id: string): Promise<void> => {
    const before = ends.length;
    const answer = observed.send(id);
    await vi.waitUntil(() => ends.length > before);
    ends[before]?.reject(DOWN);
    expect(await answer).toBe(HANDLED);
  };
  return { ...observed, ends, failFirst };
}

it.each<[string, () => Promise<never>]>([
  ["throws", throws],
  ["rejects", rejects],
])("a completion that %s is still 200, and redeliveries are duplicates", async (_how, fault) => {
  const { count, comeBack, send, lines, runs } = failing(fault);
  expect(await send()).toBe(HANDLED);
  expect(linesWith(lines, "completion failed")).toHaveLength(1);
  // Longer than the lease, which is no longer renewed.
  for (let minute = 0; minute < 10; minute++) {
    expect(await send()).toBe(DUPLICATE);
    await pass(60_000);
  }
  expect(count("claim")).toBe(1);
  comeBack();
  await pass(30_000);
  const completions = count("complete");
  await pass(600_000);
  expect(count("complete")).toBe(completions);
  expect(vi.getTimerCount()).toBe(0);
  expect(await send()).toBe(DUPLICATE);
  expect(count("claim")).toBe(2);
  expect(runs).toHaveLength(1);
});

it("a completion that hangs still answers 200 after dependencyTimeoutMs", async () => {
  const { store, count, comeBack, receiver, reports, runs, send } = failing(never);
  const { answer } = await receiveUntil(store, "complete", receiver);
  await pass(4_999);
  expect(reports).toEqual([]);
  await pass(1);
  expect(await answerOf(answer)).toBe(HANDLED);
  expect(await send()).toBe(DUPLICATE);
  comeBack();
  await pass(60_000);
  expect(vi.getTimerCount()).toBe(0);
  expect(await send()).toBe(DUPLICATE);
  expect(count("claim")).toBe(2);
  expect(runs).toHaveLength(1);
});

it("a completion that hangs beyond the lease lets no redelivery run the handler", async () => {
  const times = { leaseMs: 1_000, dependencyTimeoutMs: 60_000 };
  const { store, receiver, runs, send } = failing(never, times);
  const { answer } = await receiveUntil(store, "complete", receiver);
  await pass(2_000);
  const claiming = firstCall(store, "claim");
  const second = send();
  await Promise.race([claiming, second]);
  await pass(60_000);
  expect(await answerOf(answer)).toBe(HANDLED);
  expect([IN_FLIGHT, DUPLICATE]).toContain(await second);
  expect(runs).toHaveLength(1);
});

it.each<[string, () => unknown]>([
  ["synchronous", () => undefined],
  ["asynchronous", () => Promise.resolve()],
])(
  "a slow completion keeps the lease of %s handlers for redeliveries at other processes",
  async (_kind, handler) => {
    const taken = deferred();
    const inner = memoryStore();
    const complete: DeliveryStore["complete"] = async (...call) => {
      await taken.promise;
      await inner.complete(...call);
    };
    const store = { ...inner, complete };
    const settings = { leaseMs: 3_000, dependencyTimeoutMs: 60_000 };
    const one = observedAlarmReceiver(handler, { store, ...settings });
    const another = observedAlarmReceiver(handler, { store: inner, ...settings });
    const { answer } = await receiveUntil(store, "complete", one.receiver);
    for (let ms = 0; ms < 30_000; ms += 500) {
      await pass(500);
      // This process knows that it was handled. Other processes see it as in flight.
      expect(await one.send()).toBe(DUPLICATE);
      expect(await another.send()).toBe(IN_FLIGHT);
    }
    taken.resolve();
    expect(await answerOf(answer)).toBe(HANDLED);
    expect(await another.send()).toBe(DUPLICATE);
    expect([one.runs.length, another.runs.length]).toEqual([1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  },
);

it("the completion is retried for a discarded delivery and for a late success as well", async () => {
  const { store, comeBack } = failingStore("complete");
  const { runs, start, send } = heldReceiver({ store, handlerTimeoutMs: 1_000 });
  const discarding = await start(await delivery({ id: "discarded" }));
  const discard = discarding.fail(new DiscardDelivery({ reason: "account closed" }));
  expect(await answerOf(discard)).toBe("200 discarded");

  const run = await start(await delivery({ id: "late" }));
  await pass(1_000);
  expect(await answerOf(run.answer)).toBe("503 handler_timeout");
  run.resolve();
  await pass(60_000);
  for (const id of ["discarded", "late"]) expect(await send(id)).toBe(DUPLICATE);
  comeBack();
  await pass(30_000);
  const states = await claimedElsewhere(store, ["discarded", "late"]);
  expect(states).toEqual(["completed", "completed"]);
  expect(runs).toHaveLength(2);
});

it("completions are retried one at a time, at least every two seconds", async () => {
  const { calls, comeBack, send } = failing();
  const turns = ["one", "two", "three"];
  for (const id of turns) await send(id);
  calls.length = 0;
  const at: number[] = [];
  for (let second = 1; second <= 13; second++) {
    await pass(1_000);
    if (calls.length > 0) at.push(second);
    // One key is tried; if it fails, the others are not.
    const expected = at.at(-1) === second ? [turns[(at.length - 1) % 3]] : [];
    expect(calls.splice(0).map(({ key }) => key)).toEqual(expected);
  }
  expect(at).toEqual([1, 3, 5, 7, 9, 11, 13]);
  comeBack();
  await pass(2_000);
  expect(calls.map(({ key }) => key)).toEqual(["two", "three", "one"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a completion that fails for one id only does not delay the others", async () => {
  const { inner, comeBack, send } = failing();
  for (const id of ["poison", "one", "two"]) await send(id);
  comeBack();
  await pass(3_000);
  expect(await claimedElsewhere(inner, ["one", "two"])).toEqual(["completed", "completed"]);
});

it("the retry delay of completions starts again after the store has recovered", async () => {
  const { count, comeBack, goDown, send } = failing();
  await send("one");
  await pass(120_000);
  comeBack();
  await pass(30_000);
  goDown();
  await send("two");
  const before = count("complete");
  await pass(1_000);
  expect(count("complete")).toBe(before + 1);
});

it("a completion that is on its way makes no other delivery a duplicate", async () => {
  const { store, receiver, runs, send } = failing(never);
  const one = await delivery({ id: "one" });
  const { answer } = await receiveUntil(store, "complete", receiver, one);
  const completingNext = firstCall(store, "complete");
  const second = send("two");
  await Promise.race([completingNext, second]);
  await pass(5_000);
  expect([await answerOf(answer), await second]).toEqual([HANDLED, HANDLED]);
  expect(runs.map(({ id }) => id)).toEqual(["one", "two"]);
});

it("a retry that the runtime has ended counts as lost a minute after it was due", async () => {
  const { count, send } = failing();
  await send("one");
  // The request has ended, and its timers with it. That sets the clock of the test back to 0.
  vi.clearAllTimers();
  await pass(60_900);
  await send("two");
  await pass(5_000);
  expect(count("complete")).toBe(2);
});

it("the first completion that fails after a lost retry starts the retries again", async () => {
  const { store, count, comeBack, send } = failing();
  await send("one");
  vi.clearAllTimers();
  await pass(61_100);
  await send("two");
  comeBack();
  await pass(1_000);
  expect(count("complete")).toBe(4);
  expect(await claimedElsewhere(store, ["one", "two"])).toEqual(["completed", "completed"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a retry that counts as lost and comes after all makes no second call beside its successor", async () => {
  const { count, send } = failing();
  await send("one");
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + 61_100);
  await send("two");
  await pass(1_000);
  expect(count("complete")).toBe(3);
});

/** Two runs of one delivery: the runtime has ended the first, and the second has taken over. */
async function twoRuns(store: DeliveryStore) {
  const { receiver, start } = heldReceiver({ store, leaseMs: 3_000 });
  const { open, waitUntil } = openWork();
  const request = { ...(await delivery()), waitUntil };
  const first = await start(request);
  vi.clearAllTimers();
  await pass(9_000);
  const starting = start(request);
  await pass(1);
  const expectOpen = (count: number) => {
    expect(open.size).toBe(count);
    if (count === 0) expect(receiver.health().completionsPending).toBe(0);
  };
  return { first, second: await starting, expectOpen };
}

it("two runs of a delivery whose completions fail both end when the store takes one completion", async () => {
  const { store, ends } = heldCompletions();
  const { first, second, expectOpen } = await twoRuns(store);
  first.resolve();
  second.resolve();
  await pass(0);
  for (const end of ends) end.reject(DOWN);
  await pass(1_000);
  expect(ends).toHaveLength(3);
  expectOpen(1);
  ends[2]?.resolve();
  await pass(0);
  expectOpen(0);
});

it("a retried completion that succeeds also ends that of a run which failed to complete meanwhile", async () => {
  const { store, ends } = heldCompletions();
  const { first, second, expectOpen } = await twoRuns(store);
  second.resolve();
  await pass(0);
  ends[0]?.reject(DOWN);
  await pass(1_000);
  // The retry for the second run is on its way.
  expect(ends).toHaveLength(2);
  first.resolve();
  await pass(0);
  ends[2]?.reject(DOWN);
  await pass(0);
  expectOpen(1);
  ends[1]?.resolve();
  await pass(0);
  expectOpen(0);
});

it("a retry that fails after drain has completed the delivery does not wait for another retry", async () => {
  const { receiver, ends, failFirst } = held();
  await failFirst("one");
  await pass(1_000);
  const drained = receiver.drain();
  await pass(0);
  expect(ends).toHaveLength(3);
  ends[2]?.resolve();
  await drained;
  ends[1]?.reject(DOWN);
  await pass(60_000);
  expect(receiver.health().completionsPending).toBe(0);
  expect(ends).toHaveLength(3);
});

it("a retry that ends after it counted as lost begins no further retry beside its successor", async () => {
  const { ends, failFirst } = held({ dependencyTimeoutMs: 600_000 });
  await failFirst("one");
  await pass(62_000);
  await failFirst("two");
  await pass(2_000);
  // The lost retry of "one" and its successor are both on their way.
  expect(ends).toHaveLength(4);
  ends[1]?.reject(DOWN);
  await pass(10_000);
  expect(ends).toHaveLength(4);
});

it("at most 10 000 completions wait for a retry, and the log names the oldest when it is given up", async () => {
  const { store, comeBack } = failingStore("complete");
  const { receiver, lines } = trustingReceiver({ store });
  const { headers, ...rest } = await delivery();
  const { open, waitUntil } = openWork();
  const receive = (n: number) =>
    send(receiver, { ...rest, headers: { ...headers, "x-webhook-id": `id-${n}` }, waitUntil });
  await receive(0);
  const [first] = open;
  for (let n = 1; n <= 10_000; n++) await receive(n);
  // Nothing waits for the one that was given up.
  expect([open.size, open.has(first)]).toEqual([10_000, false]);
  const givenUp = linesWith(lines, "given up");
  expect(givenUp).toMatchObject([{ level: "error", details: { id: "id-0" } }]);
  expect(await receive(0)).toBe(IN_FLIGHT);
  expect(await receive(1)).toBe(DUPLICATE);
  expect(await receive(10_000)).toBe(DUPLICATE);
  comeBack();
  await receiver.drain();
  await pass(60_000);
  expect(vi.getTimerCount()).toBe(0);
});
