import { setTimeout as realSleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createVirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";

const secret = TEST_SECRET;
const event = { alarm: alarm() };

describe("a handler that waits for another twin on its clock", () => {
  test("a handler that waits for another twin goes on when that twin's gap is over", async () => {
    const clock = createVirtualClock({ startMs: 0 });
    let requests = 0;
    const inner = createGatewayTwin({
      secret,
      clock,
      retry: { factor: 1 },
      target: () => new Response(null, { status: ++requests < 3 ? 503 : 200 }),
    });
    const outer = createGatewayTwin({
      secret,
      clock,
      target: async () => {
        await inner.deliver(event);
        return new Response();
      },
    });
    const { end, attempts } = await outer.deliver(event);
    expect(end).toBe("acknowledged");
    expect(attempts.map(({ ms }) => ms)).toEqual([20_000]);
    expect(requests).toBe(3);
  });

  test("the clock is paused while another twin's request does real work", async () => {
    const clock = createVirtualClock({ startMs: 0 });
    const target = async () => {
      // Longer than the second after which the clock goes on.
      await realSleep(1_300);
      return new Response();
    };
    const inner = createGatewayTwin({ secret, clock, target });
    const outer = createGatewayTwin({
      secret,
      clock,
      target: async () => {
        const { attempts } = await inner.deliver(event);
        // The other twin's timers have fired as well.
        await realSleep(1_300);
        return new Response(String(attempts.length));
      },
    });
    const { end, attempts } = await outer.deliver(event);
    expect(end).toBe("acknowledged");
    expect(attempts).toMatchObject([{ ms: 0 }]);
    expect(clock.now()).toBe(0);
  });
});

describe("a handler that is awake beside a sleep of its own", () => {
  test("in a race of a sleep and real work the sleep wins", async () => {
    const clock = createVirtualClock({ startMs: 0 });
    const winner = await clock.hold(() =>
      Promise.race([
        realSleep(50).then(() => "real"),
        clock.sleep(3_600_000).then(() => "virtual"),
      ]),
    );
    expect(winner).toBe("virtual");
    expect(clock.now()).toBe(3_600_000);
  });
});

test("held work that waits for its own timer goes on after a second, but not for a cancelled timer", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  await clock.hold(
    () =>
      new Promise<void>((resolve) => {
        clock.startTimer(5_000, resolve);
      }),
  );
  expect(clock.now()).toBe(5_000);
  void clock.sleep(1_000);
  await clock.hold(async () => {
    clock.startTimer(10, () => undefined)();
    await realSleep(1_300);
    expect(clock.now()).toBe(5_000);
  });
});
