import { expect, test } from "vitest";
import { memoryStore } from "../../src/index.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import type { SingleTargetTwinOptions } from "../../kit/twin/twin-options.js";
import { createVirtualClock, type VirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";
import { twinEndpoint } from "../support/testing/twin-endpoint.js";
import { alarmReceiver } from "../support/alarm-receiver.js";

const secret = TEST_SECRET;
const event = { alarm: alarm() };

/** A receiver that counts how often each delivery was handled. `handle` may sleep first. */
function countingReceiver(
  clock: VirtualClock,
  handle: () => Promise<void> = () => Promise.resolve(),
) {
  const handled = new Map<string, number>();
  const count = async ({ id }: { id: string }) => {
    await handle();
    handled.set(id, (handled.get(id) ?? 0) + 1);
  };
  // The store keeps real time, since handlers sleep on the virtual clock.
  const receiver = alarmReceiver(count, { now: clock.now, store: memoryStore() });
  return { receiver, handled, counts: () => [...handled.values()] };
}

function twinFor(options: Omit<SingleTargetTwinOptions, "secret" | "clock">, clock: VirtualClock) {
  return createGatewayTwin({ secret, clock, seed: 4, ...options });
}

test("concurrent repeats are handled once, and the answer to the first counts", async () => {
  const clock = createVirtualClock();
  const { receiver, counts } = countingReceiver(clock, () => clock.sleep(1_000));
  const twin = twinFor({ target: receiver }, clock);
  const { attempts, end } = await twin.deliver(event, { times: 4, concurrent: true });

  expect(end).toBe("acknowledged");
  const rows = attempts.map(({ number, repeat, outcome, ms }) => [number, repeat, outcome, ms]);
  const repeats = [1, 2, 3].map((repeat) => [1, repeat, "in_flight", 0]);
  expect(rows).toEqual([[1, 0, "handled", 1_000], ...repeats]);
  expect(counts()).toEqual([1]);
});

test("sequential repeats are sent when the one before is answered", async () => {
  const clock = createVirtualClock();
  const { receiver, counts } = countingReceiver(clock, () => clock.sleep(1_000));
  const twin = twinFor({ target: receiver }, clock);
  const { attempts } = await twin.deliver(event, { times: 3 });

  expect(attempts.map(({ repeat, outcome }) => [repeat, outcome])).toEqual([
    [0, "handled"],
    [1, "duplicate"],
    [2, "duplicate"],
  ]);
  expect(attempts.map(({ at }) => at.getTime() - 1_760_000_000_000)).toEqual([0, 1_000, 1_000]);
  expect(counts()).toEqual([1]);
});

test("neither a 200 nor a 401 to a repeat ends the delivery", async () => {
  const clock = createVirtualClock();
  const statuses = [503, 200, 401, 200, 503, 503];
  const endpoint = twinEndpoint(clock.now, (_arrival, count) => statuses[count] ?? 0);
  const twin = twinFor({ target: endpoint.target }, clock);
  const delivery = await twin.deliver(event, { times: 3 });
  expect(delivery).toMatchObject({ end: "acknowledged", status: 200 });
  expect(delivery.attempts.map(({ number, repeat, status }) => [number, repeat, status])).toEqual(
    statuses.map((status, at) => [at < 3 ? 1 : 2, at % 3, status]),
  );
  expect(new Set(endpoint.arrivals.map(({ headers }) => headers.get("x-webhook-id"))).size).toBe(1);
});

test("a lost answer leaves a handled delivery whose retry is a duplicate", async () => {
  const clock = createVirtualClock();
  const { receiver, counts } = countingReceiver(clock);
  const twin = twinFor({ target: receiver, faults: { lostAnswerRate: 1 } }, clock);
  const { end, attempts, reason } = await twin.deliver(event);

  expect(end).toBe("exhausted");
  expect(reason).toContain("no answer (a network error that the twin injected) at attempt 10");
  expect(
    attempts.every(({ fault, status }) => fault === "answer_lost" && status === undefined),
  ).toBe(true);
  expect(counts()).toEqual([1]);
});

test("a lost request never reaches the endpoint", async () => {
  const clock = createVirtualClock();
  const { receiver, counts } = countingReceiver(clock);
  const faults = { networkErrorRate: 1, duplicateRate: 1, concurrentDuplicateRate: 1 };
  const twin = twinFor({ target: receiver, faults }, clock);
  const { end, attempts } = await twin.deliver(event, { times: 5 });

  expect(end).toBe("exhausted");
  expect(attempts).toHaveLength(10);
  expect(attempts[0]).toMatchObject({ fault: "request_lost", result: "network_error" });
  expect(counts()).toEqual([]);
});
