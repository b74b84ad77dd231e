import { expect, it } from "vitest";
import { createGatewayTwin, createVirtualClock } from "../../kit/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import { TEST_SECRET, alarm } from "../support/deliveries.js";

it("a receiver limited to 100 handlers lets 5 000 concurrent deliveries wait, and handles them once each", async () => {
  const runs = new Map<string, number>();
  let running = 0;
  let most = 0;
  const { options, reports } = createCollector();
  const twin = createGatewayTwin({
    target: { receive: (request) => receiver.receive(request) },
    secret: TEST_SECRET,
    clock: createVirtualClock(),
    seed: 1,
  });
  const receiver = alarmReceiver(
    async ({ id }) => {
      most = Math.max(most, (running += 1));
      runs.set(id, (runs.get(id) ?? 0) + 1);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    },
    { ...options, logger: false, now: twin.now, maxConcurrentDeliveries: 100 },
  );
  const events = Array.from({ length: 5_000 }, (_, at) => ({ alarm: alarm({ id: at + 1 }) }));
  const report = await twin.deliverMany(events, { concurrency: 5_000 });
  expect({ ...report, deliveries: [] }).toMatchObject({ acknowledged: 5_000, lost: [] });
  expect(most).toBe(100);
  expect(runs.size).toBe(5_000);
  expect(new Set(runs.values())).toEqual(new Set([1]));
  expect(reports.filter(({ outcome }) => outcome === "overloaded")).toEqual([]);
});
