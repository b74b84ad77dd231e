import { beforeEach, describe, expect, test, vi } from "vitest";
import { memoryStore } from "../../src/index.js";
import {
  heldHandler,
  observedAlarmReceiver,
  type AlarmHandler,
} from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { NOW_MS, NOW_SECONDS, delivery } from "../support/deliveries.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";

const NOTICE = "with the same X-Webhook-Timestamp";
const failing = () => Promise.reject(new Error("database is away"));

beforeEach(() => vi.useFakeTimers({ now: NOW_MS }));

/**
 * A receiver that uses the clock of the test, and a gateway that may repeat its first timestamp.
 */
function scene(handler: AlarmHandler, given: Partial<CommonReceiverOptions> = {}) {
  const { receiver, lines } = observedAlarmReceiver(handler, { now: Date.now, ...given });
  return {
    receiver,
    notices: () => linesWith(lines, NOTICE),
    /** Sends one attempt, `afterMs` later. */
    send: async (id: string, timestamp: number, afterMs = 0) => {
      await vi.advanceTimersByTimeAsync(afterMs);
      return (await receiver.receive(await delivery({ id, timestamp }))).outcome;
    },
  };
}

describe("an id that is sent again with the same timestamp", () => {
  test("an id that is sent again with the same timestamp after more than 8 s causes one warning per receiver, which names the option to set", async () => {
    const { send, notices } = scene(failing);
    await send("one", NOW_SECONDS);
    await send("one", NOW_SECONDS, 8_001);
    await send("one", NOW_SECONDS, 20_000);
    await send("two", NOW_SECONDS);
    await send("two", NOW_SECONDS, 20_000);
    expect(notices()).toHaveLength(1);
    const [notice] = notices();
    expect(notice).toMatchObject({ level: "warn", details: { id: "one" } });
    expect(notice?.message).toContain("either the gateway repeats the first timestamp");
    expect(notice?.message).toContain("someone with a captured delivery");
    expect(notice?.message).toContain("raise timestampToleranceMs");
    expect(notice?.message).toContain("at most to retentionMs");
  });

  test("an id that is sent again with the same timestamp within 8 s is a duplicate of the network and causes no warning", async () => {
    const { send, notices } = scene(failing);
    await send("one", NOW_SECONDS);
    await send("one", NOW_SECONDS, 8_000);
    expect(notices()).toEqual([]);
  });

  test("a repeated timestamp causes no warning after a thousand other ids, as only so many are remembered", async () => {
    const { send, notices } = scene(failing);
    await send("one", NOW_SECONDS);
    for (let other = 0; other < 1_000; other++) await send(`other-${String(other)}`, NOW_SECONDS);
    await send("one", NOW_SECONDS, 8_001);
    expect(notices()).toEqual([]);
    await send("other-999", NOW_SECONDS);
    expect(notices()).toHaveLength(1);
  });

  test("a repeated timestamp causes a warning if the later attempt is handled", async () => {
    let runs = 0;
    const { send, notices } = scene(() => (++runs === 1 ? failing() : undefined));
    expect(await send("one", NOW_SECONDS)).toBe("handler_failed");
    expect(await send("one", NOW_SECONDS, 10_000)).toBe("handled");
    expect(notices()).toHaveLength(1);
  });

  test("a repeated timestamp causes a warning if both attempts are already stale", async () => {
    const { send, notices } = scene(failing);
    expect(await send("one", NOW_SECONDS - 1_000)).toBe("stale");
    expect(await send("one", NOW_SECONDS - 1_000, 600_000)).toBe("stale");
    expect(notices()).toHaveLength(1);
  });

  test("a repeated timestamp is judged by the time of arrival, however long the first handler takes", async () => {
    const { handler, start } = heldHandler();
    const { receiver, send, notices } = scene(handler, { handlerTimeoutMs: 60_000 });
    const first = await start(receiver, await delivery({ id: "one" }));
    expect(await send("one", NOW_SECONDS, 100)).toBe("in_flight");
    await vi.advanceTimersByTimeAsync(20_000);
    expect((await first.fail(new Error("late"))).outcome).toBe("handler_failed");
    expect(notices()).toEqual([]);
    const second = await start(receiver, await delivery({ id: "one" }));
    expect((await second.succeed()).outcome).toBe("handled");
    expect(notices()).toHaveLength(1);
  });
});

test("a gateway that signs each attempt anew causes no warning", async () => {
  const { send, notices } = scene(failing);
  for (const at of [0, 10, 30, 70, 150]) {
    await send("one", NOW_SECONDS + at, NOW_MS + at * 1_000 - Date.now());
  }
  expect(notices()).toEqual([]);
});

test("different ids with one timestamp cause no warning", async () => {
  const { send, notices } = scene(failing);
  await send("one", NOW_SECONDS);
  await send("two", NOW_SECONDS, 10_000);
  expect(notices()).toEqual([]);
});

test("a delivery that is not authentic causes no warning", async () => {
  const { receiver, notices } = scene(failing);
  const forged = { ...(await delivery()), body: "forged" };
  await receiver.receive(forged);
  await vi.advanceTimersByTimeAsync(10_000);
  await receiver.receive(forged);
  expect(notices()).toEqual([]);
});

test("only the store remembers a delivery that was handled immediately, until its first duplicate arrives", async () => {
  const { send, notices } = scene(() => undefined, { store: memoryStore() });
  expect(await send("one", NOW_SECONDS)).toBe("handled");
  expect(await send("one", NOW_SECONDS, 10_000)).toBe("duplicate");
  expect(notices()).toEqual([]);
  expect(await send("one", NOW_SECONDS, 20_000)).toBe("duplicate");
  expect(notices()).toHaveLength(1);
});

test("a delivery that was handled immediately is not remembered, also while the receiver remembers others", async () => {
  const { send, notices } = scene(({ id }) => (id === "failing" ? failing() : undefined));
  expect(await send("failing", NOW_SECONDS)).toBe("handler_failed");
  expect(await send("one", NOW_SECONDS)).toBe("handled");
  expect(await send("one", NOW_SECONDS, 10_000)).toBe("duplicate");
  expect(notices()).toEqual([]);
});

test("the time between two attempts is that of the receiver's clock", async () => {
  const { send, notices } = scene(failing, { now: () => NOW_MS });
  await send("one", NOW_SECONDS);
  await send("one", NOW_SECONDS, 20_000);
  expect(notices()).toEqual([]);
});

test("a clock that throws after the answer is known does not change the answer", async () => {
  let reads = 0;
  const now = () => {
    reads += 1;
    if (reads > 1) throw new Error("no clock");
    return NOW_MS;
  };
  const { receiver, notices } = scene(failing, { now });
  // The receiver has read it when it was made.
  reads = 0;
  expect((await receiver.receive(await delivery())).outcome).toBe("handler_failed");
  expect(notices()).toEqual([]);
});
