import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import {
  DUPLICATE,
  FAILED,
  HANDLED,
  IN_FLIGHT,
  answerOf,
  heldRun,
  observedAlarmReceiver,
  send,
} from "../support/alarm-receiver.js";
import { delivery, eventDelivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

async function eventLoopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

/** A real store that answers in an irregular order. */
function unevenStore(): DeliveryStore {
  const inner = memoryStore();
  let calls = 0;
  return {
    ...inner,
    async claim(key, owner, times) {
      calls += 1;
      await eventLoopTurns((calls * 7) % 40);
      const result = await inner.claim(key, owner, times);
      await eventLoopTurns((calls * 11) % 60);
      return result;
    },
    async complete(key, owner, { retentionMs }) {
      await eventLoopTurns(5);
      await inner.complete(key, owner, { retentionMs });
      await eventLoopTurns(5);
    },
  };
}

const times = <T>(count: number, make: () => Promise<T>) =>
  Promise.all(Array.from({ length: count }, make));

beforeEach(() => vi.useFakeTimers());

describe("redeliveries", () => {
  it.each([
    ["at once", memoryStore],
    ["in an order of its own", unevenStore],
  ])("32 simultaneous redeliveries run once if the store answers %s", async (_how, makeStore) => {
    let succeeded = false;
    const run = async () => {
      await eventLoopTurns(25);
      succeeded = true;
    };
    const { send, runs } = observedAlarmReceiver(run, { store: makeStore() });
    const request = await delivery();
    const answers = await times(32, async () => {
      const answer = await send(request);
      return answer.startsWith("200") && !succeeded ? "too early" : answer;
    });
    expect(runs).toHaveLength(1);
    expect(answers.filter((answer) => answer === HANDLED)).toHaveLength(1);
    expect([HANDLED, IN_FLIGHT, DUPLICATE]).toEqual(expect.arrayContaining(answers));
  });

  it("redeliveries are 409 with the lease's remaining time while the first runs, and 200 afterwards", async () => {
    const { receiver, repeated, run, runs, send } = await heldRun({ leaseMs: 12_000 });
    await vi.advanceTimersByTimeAsync(1_500);
    for (const response of await times(31, () => receiver.receive(repeated))) {
      expect(await answerOf(response)).toBe(IN_FLIGHT);
      expect(response.headers["retry-after"]).toBe("11");
    }
    expect(await answerOf(run.succeed())).toBe(HANDLED);
    expect(await send()).toBe(DUPLICATE);
    expect(runs).toHaveLength(1);
  });

  it("only the id identifies a redelivery: each id runs, even with the same body", async () => {
    const { send, runs } = observedAlarmReceiver();
    const ids = ["one", "two", "__proto__", "constructor", "ONE"];
    for (const id of ids) {
      expect(await send(id)).toBe(HANDLED);
      expect(await send(id)).toBe(DUPLICATE);
    }
    expect(runs.map(({ id }) => id)).toEqual(ids);
  });

  it("redeliveries stay duplicates for the whole retention, at each of the gateway's attempts", async () => {
    const { send, runs } = observedAlarmReceiver();
    await send();
    for (let hours = 0; hours < 7 * 24; hours += 4) {
      expect(await send()).toBe(DUPLICATE);
      await vi.advanceTimersByTimeAsync(4 * 3_600_000);
    }
    expect(runs).toHaveLength(1);
    expect(await send()).toBe(HANDLED);
  });

  it.each([
    ["an Online Data event", eventDelivery("DATA_DELETED")],
    ["an unrecognized body", delivery({ body: "no JSON" })],
  ])("%s runs once too", async (_what, made) => {
    let runs = 0;
    const handler = async () => {
      const run = (runs += 1);
      await eventLoopTurns(3);
      if (run === 1) throw new Error("first attempt");
    };
    const handlers = { delete_my_data_event: { DATA_DELETED: handler }, unrecognized: handler };
    const { receiver } = recordingReceiver({ handlers });
    const repeated = await made;
    expect(await send(receiver, repeated)).toBe(FAILED);
    const answers = await times(4, () => send(receiver, repeated));
    expect(answers.filter((answer) => answer === HANDLED)).toHaveLength(1);
    expect([HANDLED, IN_FLIGHT, DUPLICATE]).toEqual(expect.arrayContaining(answers));
    expect(await send(receiver, repeated)).toBe(DUPLICATE);
    expect(runs).toBe(2);
  });
});

describe("failed runs", () => {
  it("a handler that fails is 500, and each redelivery runs it again until it succeeds", async () => {
    const { send, runs } = observedAlarmReceiver(async () => {
      await eventLoopTurns(2);
      if (runs.length < 4) throw new Error("not yet");
    });
    for (let attempt = 1; attempt < 4; attempt++) expect(await send()).toBe(FAILED);
    expect(await send()).toBe(HANDLED);
    expect(await send()).toBe(DUPLICATE);
    expect(runs.map(({ takeover }) => takeover)).toEqual([false, false, false, false]);
  });
});
