import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  memoryStore,
  type DeliveryStore,
  type WebhookReceiver,
  type WebhookRequest,
  type WebhookResponse,
} from "../../src/index.js";
import { alarmReceiver, heldHandler, heldRun } from "../support/alarm-receiver.js";
import { delivery, eventDelivery } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const outcomeOf = async (response: WebhookResponse | Promise<WebhookResponse>) =>
  (await response).outcome;

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

const receiveTimes = (times: number, receiver: WebhookReceiver, request: WebhookRequest) =>
  Promise.all(Array.from({ length: times }, () => receiver.receive(request)));

beforeEach(() => vi.useFakeTimers());

describe("redeliveries", () => {
  it.each([
    ["at once", memoryStore],
    ["in an order of its own", unevenStore],
  ])("32 simultaneous redeliveries run once if the store answers %s", async (_how, makeStore) => {
    let runs = 0;
    let succeeded = false;
    const receiver = alarmReceiver(
      async () => {
        runs += 1;
        await eventLoopTurns(25);
        succeeded = true;
      },
      { store: makeStore() },
    );
    const repeated = await delivery();
    const answers = await Promise.all(
      Array.from({ length: 32 }, async () => {
        const { status, outcome } = await receiver.receive(repeated);
        return { status, outcome, tooEarly: status === 200 && !succeeded };
      }),
    );
    expect(runs).toBe(1);
    expect(answers.filter(({ tooEarly }) => tooEarly)).toEqual([]);
    expect(answers.filter(({ outcome }) => outcome === "handled")).toHaveLength(1);
    const duplicates = answers.filter(({ outcome }) => outcome !== "handled");
    expect(duplicates).toHaveLength(31);
    for (const { status, outcome } of duplicates) {
      expect(["409 in_flight", "200 duplicate"]).toContain(`${status} ${outcome}`);
    }
  });

  it("redeliveries are 409 with the lease's remaining time while the first runs, and 200 afterwards", async () => {
    const { receiver, repeated, run, runs } = await heldRun({ leaseMs: 12_000 });
    await vi.advanceTimersByTimeAsync(1_500);
    const duplicates = await receiveTimes(31, receiver, repeated);
    for (const { status, outcome, headers } of duplicates) {
      expect({ status, outcome }).toEqual({ status: 409, outcome: "in_flight" });
      expect(headers["retry-after"]).toBe("11");
    }
    expect(await run.succeed()).toMatchObject({ status: 200, outcome: "handled" });
    expect(await receiver.receive(repeated)).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(runs).toHaveLength(1);
  });

  it("redeliveries run once across several processes that share a store", async () => {
    const store = memoryStore();
    const { handler, runs, start } = heldHandler();
    const processes = Array.from({ length: 4 }, () => alarmReceiver(handler, { store }));
    const repeated = await delivery();
    const run = await start(alarmReceiver(handler, { store }), repeated);
    const answers = [...processes, ...processes].map((process) => process.receive(repeated));
    run.resolve();
    const found = (await Promise.all(answers)).map(({ outcome }) => outcome);
    expect(["in_flight", "duplicate"]).toEqual(expect.arrayContaining(found));
    expect(await outcomeOf(run.answer)).toBe("handled");
    for (const process of processes) {
      expect(await outcomeOf(process.receive(repeated))).toBe("duplicate");
    }
    expect(runs).toHaveLength(1);
  });

  it("only the id identifies a redelivery: each id runs, even with the same body", async () => {
    const ids: string[] = [];
    const receiver = alarmReceiver(({ id }) => ids.push(id));
    for (const id of ["one", "two", "__proto__", "constructor", "ONE"]) {
      expect(await outcomeOf(receiver.receive(await delivery({ id })))).toBe("handled");
      expect(await outcomeOf(receiver.receive(await delivery({ id })))).toBe("duplicate");
    }
    expect(ids).toEqual(["one", "two", "__proto__", "constructor", "ONE"]);
  });

  it("redeliveries stay duplicates for the whole retention, at each of the gateway's attempts", async () => {
    let runs = 0;
    const receiver = alarmReceiver(() => (runs += 1));
    const repeated = await delivery();
    await receiver.receive(repeated);
    for (let hours = 0; hours < 7 * 24; hours += 4) {
      expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
      await vi.advanceTimersByTimeAsync(4 * 3_600_000);
    }
    expect(runs).toBe(1);
    expect(await outcomeOf(receiver.receive(repeated))).toBe("handled");
  });

  it.each(["an Online Data event", "an unrecognized body"])("%s runs once too", async (what) => {
    let runs = 0;
    let fails = true;
    const handler = async () => {
      runs += 1;
      await eventLoopTurns(3);
      if (fails) throw new Error("first attempt");
    };
    const handlers = { delete_my_data_event: { DATA_DELETED: handler }, unrecognized: handler };
    const { receiver } = recordingReceiver({ handlers });
    const isEvent = what === "an Online Data event";
    const repeated = isEvent
      ? await eventDelivery("DATA_DELETED")
      : await delivery({ body: "no JSON" });
    expect(await outcomeOf(receiver.receive(repeated))).toBe("handler_failed");
    fails = false;
    const answers = await receiveTimes(4, receiver, repeated);
    const found = answers.map(({ outcome }) => outcome);
    expect(found.filter((outcome) => outcome === "handled")).toHaveLength(1);
    expect(["handled", "in_flight", "duplicate"]).toEqual(expect.arrayContaining(found));
    expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
    expect(runs).toBe(2);
  });
});

describe("failed runs", () => {
  it("a handler that fails is 500, and each redelivery runs it again until it succeeds", async () => {
    const takeovers: boolean[] = [];
    const receiver = alarmReceiver(async ({ takeover }) => {
      takeovers.push(takeover);
      await eventLoopTurns(2);
      if (takeovers.length < 4) throw new Error("not yet");
    });
    const repeated = await delivery();
    for (let attempt = 1; attempt < 4; attempt++) {
      expect(await receiver.receive(repeated)).toMatchObject({
        status: 500,
        outcome: "handler_failed",
      });
    }
    expect(await outcomeOf(receiver.receive(repeated))).toBe("handled");
    expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
    expect(takeovers).toEqual([false, false, false, false]);
  });

  it("none of 31 redeliveries during a run that fails is 200, and the next one runs", async () => {
    const { receiver, repeated, run, runs, start } = await heldRun();
    const duplicates = await receiveTimes(31, receiver, repeated);
    run.reject(new Error("run.answer attempt"));
    expect(await outcomeOf(run.answer)).toBe("handler_failed");
    expect(duplicates.map(({ status }) => status)).toEqual(Array.from({ length: 31 }, () => 409));
    const next = await start(repeated);
    next.resolve();
    expect(await outcomeOf(next.answer)).toBe("handled");
    expect(runs).toHaveLength(2);
  });
});
