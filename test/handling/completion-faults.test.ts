import { beforeEach, expect, it, vi } from "vitest";
import { DiscardDelivery, memoryStore, type DeliveryStore } from "../../src/index.js";
import {
  alarmReceiver,
  heldReceiver,
  heldRun,
  observedAlarmReceiver,
} from "../support/alarm-receiver.js";
import { trustingReceiver } from "../support/recording-receiver.js";
import { linesWith } from "../support/collector.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { DOWN, rejects, throws } from "../support/faults.js";
import {
  claimedElsewhere,
  failingStore,
  firstCall,
  heldCompletions,
  receiveUntil,
} from "../support/spied-store.js";

beforeEach(() => vi.useFakeTimers());

it.each<[string, () => Promise<never>]>([
  ["throws", throws],
  ["rejects", rejects],
])("a completion that %s is still 200, and redeliveries are duplicates", async (_how, fault) => {
  const { store, count, comeBack } = failingStore("complete", fault);
  let runs = 0;
  const { receiver, lines } = observedAlarmReceiver(() => (runs += 1), { store });
  const repeated = await delivery();
  expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "handled" });
  expect(linesWith(lines, "completion failed")).toHaveLength(1);
  // Longer than the lease, which is no longer renewed.
  for (let minute = 0; minute < 10; minute++) {
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(count("claim")).toBe(1);
  comeBack();
  await vi.advanceTimersByTimeAsync(30_000);
  const completions = count("complete");
  await vi.advanceTimersByTimeAsync(600_000);
  expect(count("complete")).toBe(completions);
  expect(vi.getTimerCount()).toBe(0);
  expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
  expect(count("claim")).toBe(2);
  expect(runs).toBe(1);
});

it("a completion that hangs still answers 200 after dependencyTimeoutMs", async () => {
  const { store, count, comeBack } = failingStore("complete", never);
  let runs = 0;
  const { receiver, reports } = observedAlarmReceiver(() => (runs += 1), { store });
  const repeated = await delivery();
  const { answer } = await receiveUntil(store, "complete", receiver, repeated);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(reports).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await answer).toMatchObject({ status: 200, outcome: "handled" });
  expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
  comeBack();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(vi.getTimerCount()).toBe(0);
  expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
  expect(count("claim")).toBe(2);
  expect(runs).toBe(1);
});

it("a completion that hangs beyond the lease lets no redelivery run the handler", async () => {
  const { store } = failingStore("complete", never);
  let runs = 0;
  const times = { leaseMs: 1_000, dependencyTimeoutMs: 60_000 };
  const receiver = alarmReceiver(() => (runs += 1), { store, ...times });
  const repeated = await delivery();
  const { answer: first } = await receiveUntil(store, "complete", receiver, repeated);
  await vi.advanceTimersByTimeAsync(2_000);
  const claiming = firstCall(store, "claim");
  const second = receiver.receive(repeated);
  await Promise.race([claiming, second]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await first).toMatchObject({ status: 200, outcome: "handled" });
  expect(["in_flight", "duplicate"]).toContain((await second).outcome);
  expect(runs).toBe(1);
});

it("a slow completion keeps the lease for redeliveries at other processes", async () => {
  const taken = deferred();
  const inner = memoryStore();
  const completing = deferred();
  const complete: DeliveryStore["complete"] = async (...call) => {
    completing.resolve();
    await taken.promise;
    await inner.complete(...call);
  };
  const settings = { leaseMs: 3_000, dependencyTimeoutMs: 60_000 };
  const store = { ...inner, complete };
  const { receiver, handler, repeated, run, runs } = await heldRun({ store, ...settings });
  const another = alarmReceiver(handler, { store: inner, ...settings });
  run.resolve();
  await completing.promise;
  for (let seconds = 0; seconds < 30; seconds += 2) {
    await vi.advanceTimersByTimeAsync(2_000);
    // This process knows that it was handled. Other processes see it as in flight.
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(await another.receive(repeated)).toMatchObject({ status: 409, outcome: "in_flight" });
  }
  taken.resolve();
  expect(await run.answer).toMatchObject({ status: 200, outcome: "handled" });
  expect(await another.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
  expect(runs).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

it("the completion is retried for a discarded delivery and for a late success as well", async () => {
  const { store, comeBack } = failingStore("complete");
  const { receiver, runs, start } = heldReceiver({ store, handlerTimeoutMs: 1_000 });
  const discarded = await delivery({ id: "discarded" });
  const discarding = await start(discarded);
  const discard = await discarding.fail(new DiscardDelivery({ reason: "account closed" }));
  expect(discard).toMatchObject({ status: 200, outcome: "discarded" });

  const late = await delivery({ id: "late" });
  const run = await start(late);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await run.answer).toMatchObject({ status: 503, outcome: "handler_timeout" });
  run.resolve();
  await vi.advanceTimersByTimeAsync(60_000);
  for (const repeated of [discarded, late]) {
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
  }
  comeBack();
  await vi.advanceTimersByTimeAsync(30_000);
  const states = await claimedElsewhere(store, ["discarded", "late"]);
  expect(states).toEqual(["completed", "completed"]);
  expect(runs).toHaveLength(2);
});

it("completions are retried one at a time, at least every two seconds", async () => {
  const { store, calls, comeBack } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  for (const id of ["one", "two", "three"]) await receiver.receive(await delivery({ id }));
  calls.length = 0;
  const at: number[] = [];
  const turns = ["one", "two", "three"];
  for (let second = 1; second <= 13; second++) {
    await vi.advanceTimersByTimeAsync(1_000);
    if (calls.length > 0) at.push(second);
    // One key is tried; if it fails, the others are not.
    const expected = at.at(-1) === second ? [turns[(at.length - 1) % 3]] : [];
    expect(calls.splice(0).map(({ key }) => key)).toEqual(expected);
  }
  expect(at).toEqual([1, 3, 5, 7, 9, 11, 13]);
  comeBack();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(calls.map(({ key }) => key)).toEqual(["two", "three", "one"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a completion that fails for one id only does not delay the others", async () => {
  const { store, inner, comeBack } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  for (const id of ["poison", "one", "two"]) await receiver.receive(await delivery({ id }));
  comeBack();
  await vi.advanceTimersByTimeAsync(3_000);
  const states = await claimedElsewhere(inner, ["one", "two"]);
  expect(states).toEqual(["completed", "completed"]);
});

it("the retry delay of completions starts again after the store has recovered", async () => {
  const { store, count, comeBack, goDown } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  await receiver.receive(await delivery({ id: "one" }));
  await vi.advanceTimersByTimeAsync(120_000);
  comeBack();
  await vi.advanceTimersByTimeAsync(30_000);
  goDown();
  await receiver.receive(await delivery({ id: "two" }));
  const before = count("complete");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(count("complete")).toBe(before + 1);
});

it("a completion that is on its way makes no other delivery a duplicate", async () => {
  const { store } = failingStore("complete", never);
  const ran: string[] = [];
  const receiver = alarmReceiver(({ id }) => void ran.push(id), { store });
  const one = await delivery({ id: "one" });
  const { answer: first } = await receiveUntil(store, "complete", receiver, one);
  const completingNext = firstCall(store, "complete");
  const second = receiver.receive(await delivery({ id: "two" }));
  await Promise.race([completingNext, second]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect((await first).outcome).toBe("handled");
  expect((await second).outcome).toBe("handled");
  expect(ran).toEqual(["one", "two"]);
});

it("a retry that the runtime has ended counts as lost a minute after it was due", async () => {
  const { store, count } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  await receiver.receive(await delivery({ id: "one" }));
  // The request has ended, and its timers with it. That sets the clock of the test back to 0.
  vi.clearAllTimers();
  await vi.advanceTimersByTimeAsync(60_900);
  await receiver.receive(await delivery({ id: "two" }));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(count("complete")).toBe(2);
});

it("the first completion that fails after a lost retry starts the retries again", async () => {
  const { store, count, comeBack } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  await receiver.receive(await delivery({ id: "one" }));
  vi.clearAllTimers();
  await vi.advanceTimersByTimeAsync(61_100);
  await receiver.receive(await delivery({ id: "two" }));
  comeBack();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(count("complete")).toBe(4);
  const states = await claimedElsewhere(store, ["one", "two"]);
  expect(states).toEqual(["completed", "completed"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a retry that counts as lost and comes after all makes no second call beside its successor", async () => {
  const { store, count } = failingStore("complete");
  const receiver = alarmReceiver(() => undefined, { store });
  await receiver.receive(await delivery({ id: "one" }));
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + 61_100);
  await receiver.receive(await delivery({ id: "two" }));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(count("complete")).toBe(3);
});

/** Two runs of one delivery: the runtime has ended the first, and the second has taken over. */
async function twoRuns(store: DeliveryStore) {
  const { receiver, start } = heldReceiver({ store, leaseMs: 3_000 });
  const open = new Set<Promise<unknown>>();
  const waitUntil = (work: Promise<unknown>): void => {
    open.add(work);
    void work.then(() => open.delete(work));
  };
  const request = { ...(await delivery()), waitUntil };
  const first = await start(request);
  vi.clearAllTimers();
  await vi.advanceTimersByTimeAsync(9_000);
  const starting = start(request);
  await vi.advanceTimersByTimeAsync(1);
  return { receiver, first, second: await starting, open };
}

it("two runs of a delivery whose completions fail both end when the store takes one completion", async () => {
  const { store, ends } = heldCompletions();
  const { receiver, first, second, open } = await twoRuns(store);
  first.resolve();
  second.resolve();
  await vi.advanceTimersByTimeAsync(0);
  for (const end of ends) end.reject(DOWN);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ends).toHaveLength(3);
  expect(open.size).toBe(1);
  ends[2]?.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(open.size).toBe(0);
  expect(receiver.health().completionsPending).toBe(0);
});

it("a retried completion that succeeds also ends that of a run which failed to complete meanwhile", async () => {
  const { store, ends } = heldCompletions();
  const { receiver, first, second, open } = await twoRuns(store);
  second.resolve();
  await vi.advanceTimersByTimeAsync(0);
  ends[0]?.reject(DOWN);
  await vi.advanceTimersByTimeAsync(1_000);
  // The retry for the second run is on its way.
  expect(ends).toHaveLength(2);
  first.resolve();
  await vi.advanceTimersByTimeAsync(0);
  ends[2]?.reject(DOWN);
  await vi.advanceTimersByTimeAsync(0);
  expect(open.size).toBe(1);
  ends[1]?.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(open.size).toBe(0);
  expect(receiver.health().completionsPending).toBe(0);
});

it("drain waits for a store that hangs no longer than its own limit", async () => {
  const { store, ends } = heldCompletions();
  const receiver = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 20_000 });
  const answer = receiver.receive(await delivery());
  await vi.waitUntil(() => ends.length === 1);
  ends[0]?.reject(DOWN);
  await answer;
  let isDrained = false;
  void receiver.drain({ timeoutMs: 2_000 }).then(() => (isDrained = true));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(isDrained).toBe(true);
});

it("a retry that fails after drain has completed the delivery does not wait for another retry", async () => {
  const { store, ends } = heldCompletions();
  const receiver = alarmReceiver(() => undefined, { store });
  const answer = receiver.receive(await delivery());
  await vi.waitUntil(() => ends.length === 1);
  ends[0]?.reject(DOWN);
  expect(await answer).toMatchObject({ outcome: "handled" });
  await vi.advanceTimersByTimeAsync(1_000);
  const drained = receiver.drain();
  await vi.advanceTimersByTimeAsync(0);
  expect(ends).toHaveLength(3);
  ends[2]?.resolve();
  await drained;
  ends[1]?.reject(DOWN);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(receiver.health().completionsPending).toBe(0);
  expect(ends).toHaveLength(3);
});

it("a retry that ends after it counted as lost begins no further retry beside its successor", async () => {
  const { store, ends } = heldCompletions();
  const receiver = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 600_000 });
  /** Receives a delivery whose first completion fails. */
  const receive = async (id: string): Promise<void> => {
    const before = ends.length;
    const answer = receiver.receive(await delivery({ id }));
    await vi.waitUntil(() => ends.length > before);
    ends[before]?.reject(DOWN);
    await answer;
  };
  await receive("one");
  await vi.advanceTimersByTimeAsync(62_000);
  await receive("two");
  await vi.advanceTimersByTimeAsync(2_000);
  // The lost retry of "one" and its successor are both on their way.
  expect(ends).toHaveLength(4);
  ends[1]?.reject(DOWN);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ends).toHaveLength(4);
});

it("at most 10 000 completions wait for a retry, and the log names the oldest when it is given up", async () => {
  const { store, comeBack } = failingStore("complete");
  const { receiver, lines } = trustingReceiver({ store });
  const { headers, ...rest } = await delivery();
  const open = new Set<string>();
  const receive = (id: string) =>
    receiver.receive({
      ...rest,
      headers: { ...headers, "x-webhook-id": id },
      waitUntil(work) {
        open.add(id);
        void work.then(() => open.delete(id));
      },
    });
  for (let n = 0; n <= 10_000; n++) await receive(`delivery-${n}`);
  // Nothing waits for the one that was given up.
  expect(open.size).toBe(10_000);
  expect(open.has("delivery-0")).toBe(false);
  const givenUp = linesWith(lines, "given up");
  expect(givenUp).toHaveLength(1);
  expect(givenUp[0]).toMatchObject({ level: "error", details: { id: "delivery-0" } });
  expect(await receive("delivery-0")).toMatchObject({ outcome: "in_flight" });
  expect(await receive("delivery-1")).toMatchObject({ outcome: "duplicate" });
  expect(await receive("delivery-10000")).toMatchObject({ outcome: "duplicate" });
  comeBack();
  await receiver.drain();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(vi.getTimerCount()).toBe(0);
});
