import { setImmediate as turn, setTimeout as realSleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import { createVirtualClock, type VirtualClock } from "../../kit/twin/virtual-clock.js";
import { alarm, TEST_SECRET } from "../support/deliveries.js";

/** What one task of a program does, step by step. */
type Step =
  | { readonly what: "sleep" | "sleep twice at once"; readonly ms: number }
  | { readonly what: "promises" | "turns"; readonly count: number };
interface Task {
  readonly isHeld: boolean;
  readonly steps: readonly Step[];
}

const sleeping = fc.record({
  what: fc.constantFrom("sleep" as const, "sleep twice at once" as const),
  ms: fc.integer({ min: 0, max: 50_000 }),
});
const counted = (what: "promises" | "turns", max: number) =>
  fc.integer({ min: 1, max }).map((count): Step => ({ what, count }));
const taskOf = (isHeld: boolean, ...steps: readonly fc.Arbitrary<Step>[]) =>
  fc.array(fc.oneof(...steps), { maxLength: 8 }).map((drawn): Task => ({ isHeld, steps: drawn }));
/** The clock waits for turns of the event loop, which real I/O takes, only within `hold`. */
const task = fc.oneof(
  taskOf(true, sleeping, counted("promises", 30), counted("turns", 4)),
  taskOf(false, sleeping, counted("promises", 30)),
);

async function perform(clock: VirtualClock, step: Step): Promise<void> {
  switch (step.what) {
    case "sleep":
      return clock.sleep(step.ms);
    case "sleep twice at once":
      await Promise.all([clock.sleep(step.ms), clock.sleep(step.ms / 2)]);
      return;
    case "promises":
      for (let count = 0; count < step.count; count++) await Promise.resolve();
      return;
    case "turns":
      for (let count = 0; count < step.count; count++) await turn();
  }
}

/** Runs the tasks at the same time. Returns the time after each step, as "task step time". */
async function run(tasks: readonly Task[]): Promise<readonly string[]> {
  const clock = createVirtualClock({ startMs: 0 });
  const log: string[] = [];
  const perTask = tasks.map(({ isHeld, steps }, name) => {
    const work = async (): Promise<void> => {
      for (const [at, step] of steps.entries()) {
        await perform(clock, step);
        log.push(`${String(name)} ${String(at)} ${String(clock.now())}`);
      }
    };
    return isHeld ? clock.hold(work) : work();
  });
  await Promise.all(perTask);
  return log;
}

/** When the steps of a task end, whatever runs beside it. */
function expectedOf({ steps }: Task, name: number): readonly string[] {
  let time = 0;
  return steps.map((step, at) => {
    if ("ms" in step) time += step.ms;
    return `${String(name)} ${String(at)} ${String(time)}`;
  });
}

test("the virtual clock wakes every task at its time, in order, the same way in each run", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(task, { minLength: 1, maxLength: 12 }), async (tasks) => {
      const log = await run(tasks);
      expect([...log].sort()).toEqual(tasks.flatMap(expectedOf).sort());
      const times = log.map((line) => Number(line.split(" ")[2]));
      expect(times).toEqual([...times].sort((one, other) => one - other));
      const isTurning = tasks.some(({ steps }) => steps.some(({ what }) => what === "turns"));
      if (!isTurning) expect(await run(tasks)).toEqual(log);
    }),
    { numRuns: 300 },
  );
});

test("the virtual clock goes on when held work ends before a sleep that it started", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  let left: Promise<void> | undefined;
  await clock.hold(() => {
    left = clock.sleep(5_000);
    return Promise.resolve();
  });
  await clock.sleep(1_000);
  expect(clock.now()).toBe(1_000);
  await left;
  expect(clock.now()).toBe(5_000);
  // Ended work no longer counts. Otherwise the clock would stop forever, or run while work is held.
  const held = clock.hold(async () => {
    await realSleep(20);
    return clock.now();
  });
  void clock.sleep(1);
  expect(await held).toBe(5_000);
  await clock.sleep(10);
  expect(clock.now()).toBe(5_010);
});

test("the virtual clock does not wait for a sleep of work that has ended", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  let goOn: (() => void) | undefined;
  let late: Promise<number> | undefined;
  await clock.hold(() => {
    late = new Promise<void>((resolve) => (goOn = resolve))
      .then(() => clock.sleep(100))
      .then(() => clock.now());
    return Promise.resolve();
  });
  goOn?.();
  expect(await late).toBe(100);
});

test("the virtual clock goes on after a second when one request waits for another that sleeps", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  const startedAt = performance.now();
  let unlock: (() => void) | undefined;
  const lock = new Promise<void>((resolve) => (unlock = resolve));
  const owner = clock.hold(async () => {
    await clock.sleep(10_000);
    unlock?.();
  });
  const waiter = clock.hold(async () => {
    await lock;
    return clock.now();
  });
  expect(await waiter).toBe(10_000);
  await owner;
  expect(performance.now() - startedAt).toBeGreaterThan(990);
});

test("two virtual clocks are independent", async () => {
  const [one, other] = [createVirtualClock({ startMs: 0 }), createVirtualClock({ startMs: 0 })];
  const end = await one.hold(async () => {
    await other.sleep(7_000);
    await one.sleep(100);
    return [one.now(), other.now()];
  });
  expect(end).toEqual([100, 7_000]);
});

test("the virtual clock skips a timer that another timer of the same time cancels", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  const ran: string[] = [];
  const cancels: (() => void)[] = [];
  clock.startTimer(5, () => {
    ran.push("first");
    for (const cancel of cancels) cancel();
    clock.startTimer(0, () => ran.push("added"));
  });
  cancels.push(clock.startTimer(5, () => ran.push("second")));
  clock.startTimer(5, () => ran.push("third"));
  const cancelled = clock.startTimer(2, () => ran.push("cancelled"));
  cancelled();
  cancelled();
  await clock.sleep(6);
  expect(ran).toEqual(["first", "third", "added"]);
  // The clock does not jump to a cancelled timer either.
  clock.startTimer(1_000, () => ran.push("never"))();
  await perform(clock, { what: "turns", count: 5 });
  expect(clock.now()).toBe(6);
});

test("hold passes on results and errors, and a sleep refuses an invalid duration", async () => {
  const clock = createVirtualClock();
  expect(clock.now()).toBe(1_760_000_000_000);
  await expect(clock.hold(() => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await clock.hold(() => Promise.resolve(7))).toBe(7);
  await clock.sleep(-5);
  expect(clock.now()).toBe(1_760_000_000_000);
  await expect(clock.sleep(Number.NaN)).rejects.toThrow(RangeError);
  await expect(clock.hold(() => clock.sleep(Infinity))).rejects.toThrow(RangeError);
  await clock.sleep(5);
  expect(clock.now()).toBe(1_760_000_000_005);
});

test("createVirtualClock refuses invalid options", () => {
  expect(() => createVirtualClock({ startMs: -1 })).toThrow("startMs must be");
  expect(() => createVirtualClock(JSON.parse('{"start":1}') as object)).toThrow(
    "start is no option",
  );
});

const secret = TEST_SECRET;
const event = { alarm: alarm() };

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

test("in a race of a sleep and real work the sleep wins", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  const winner = await clock.hold(() =>
    Promise.race([realSleep(50).then(() => "real"), clock.sleep(3_600_000).then(() => "virtual")]),
  );
  expect(winner).toBe("virtual");
  expect(clock.now()).toBe(3_600_000);
});

test("held work that waits for its own timer goes on after a second, but not for a cancelled timer", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  await clock.hold(() => new Promise<void>((resolve) => void clock.startTimer(5_000, resolve)));
  expect(clock.now()).toBe(5_000);
  void clock.sleep(1_000);
  await clock.hold(async () => {
    clock.startTimer(10, () => undefined)();
    await realSleep(1_300);
    expect(clock.now()).toBe(5_000);
  });
});

test("the scaled clock shortens waits but keeps real time", async () => {
  const clock = createScaledClock(1_000);
  const startedAt = performance.now();
  const before = Date.now();
  expect(clock.now()).toBeGreaterThanOrEqual(before);
  await clock.sleep(50_000);
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThan(49);
  expect(tookMs).toBeLessThan(25_000);
  expect(clock.now()).toBeLessThanOrEqual(Date.now());
});

test("the scaled clock cancels timers, and a very long timer does not fire at once", async () => {
  const clock = createScaledClock();
  const ran: string[] = [];
  const cancel = clock.startTimer(0, () => ran.push("cancelled"));
  const cancelLong = clock.startTimer(Number.MAX_SAFE_INTEGER, () => ran.push("at once"));
  cancel();
  await clock.sleep(20);
  cancelLong();
  expect(ran).toEqual([]);
});
