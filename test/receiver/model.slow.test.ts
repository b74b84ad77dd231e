import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import {
  createWebhookReceiver,
  type DeliveryContext,
  type DeliveryStore,
  DiscardDelivery,
  memoryStore,
  RetryLater,
  type WebhookReceiver,
  type WebhookResponse,
} from "../../src/index.js";
import { never } from "../support/deferred.js";
import { NOW_MS } from "../support/deliveries.js";
import { createJudge, type Judge } from "../support/simulation/delivery-judge.js";
import {
  deliverStep,
  processes,
  requestOf,
  type RunPlan,
  runs,
  type Scheduler,
  settle,
  SUCCEEDS,
} from "../support/simulation/handler-runs.js";
import { naiveStore, type StoreMistake } from "../support/testing/naive-store.js";

/** Faults of a store call. A lost answer means that the call had its effect. */
type StoreFault = "throws" | "rejects" | "hangs" | "loses the answer";

/** One step of a plan. */
type Step =
  | { readonly what: "deliver"; readonly id: string; readonly process: number }
  | { readonly what: "proceed"; readonly tasks: number }
  | { readonly what: "wait"; readonly ms: number }
  /** All processes are paused, so no timer fires before the time is over. */
  | { readonly what: "freeze"; readonly ms: number }
  | {
      readonly what: "fault";
      readonly method: keyof DeliveryStore;
      readonly fault: StoreFault;
    }
  | { readonly what: "restart"; readonly process: number };

/** The steps of a simulation, in order. */
interface Plan {
  readonly steps: readonly Step[];
  readonly runs: readonly RunPlan[];
  /** Whether the store is called over a network or answers at once. */
  readonly isRemote: boolean;
}

/** The environment of a simulation. */
interface World {
  /** Fake time. `advance` fires the timers that are due and returns at once. */
  readonly clock: { readonly now: () => number; readonly advance: (ms: number) => void };
  readonly scheduler: Scheduler;
  readonly makeStore: (now: () => number) => DeliveryStore;
  readonly onResponse?: (response: WebhookResponse) => void;
}

interface Process {
  receiver: WebhookReceiver;
  readonly isGone: () => boolean;
  readonly end: () => void;
}

const LEASE_MS = 3_000;
const HANDLER_TIMEOUT_MS = 2_000;
const DEPENDENCY_TIMEOUT_MS = 1_000;

/**
 * Plays a plan on two processes that share a store, and then a plan without faults. Rejects as soon as a rule is
 * broken (see the judge), or if a delivery is never handled.
 */
async function simulate({ steps, runs, isRemote }: Plan, world: World): Promise<void> {
  const { clock, scheduler } = world;
  const judge = createJudge(world.makeStore(clock.now), clock.now, LEASE_MS);
  const planned = [...runs];
  const faults: { method: keyof DeliveryStore; fault: StoreFault }[] = [];
  const task = (label: string) => scheduler.schedule(Promise.resolve(), label);

  const handle = async (process: Process, ms: number, end: () => void): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    await task("handler");
    if (process.isGone()) await never();
    end();
  };

  const startRun = (process: Process, { id }: DeliveryContext): unknown => {
    const plan = planned.shift() ?? SUCCEEDS;
    const run = judge.startRun(id);
    const end = () => {
      run.end(plan.end === "succeeds" || plan.end === "discards");
      if (plan.end === "fails") throw new Error("the handler fails");
      if (plan.end === "retries later") throw new RetryLater();
      if (plan.end === "discards") throw new DiscardDelivery();
    };
    if (plan.end === "never ends") return never();
    if (plan.afterMs !== undefined) return handle(process, plan.afterMs, end);
    end();
    return undefined;
  };

  const takeFault = (method: keyof DeliveryStore): StoreFault | undefined => {
    const at = faults.findIndex((planned) => planned.method === method);
    return at < 0 ? undefined : faults.splice(at, 1)[0]?.fault;
  };

  const call = <T>(process: Process, method: keyof DeliveryStore, apply: () => T) => {
    const fault = takeFault(method);
    const failure = new Error(`the store ${fault ?? "works"}`);
    if (fault === "throws") throw failure;
    if (fault === "hangs" || process.isGone()) return never<T>();
    if (fault === undefined && !isRemote) return apply();
    return (async () => {
      await task(`${method} request`);
      if (fault === "rejects") throw failure;
      const answer = apply();
      await task(`${method} answer`);
      if (fault === "loses the answer") throw failure;
      return answer;
    })();
  };

  const startProcess = (): Process => {
    let gone = false;
    const process: Process = {
      isGone: () => gone,
      end: () => {
        gone = true;
      },
      receiver: createWebhookReceiver({
        acceptUnsignedDeliveries: true,
        handlers: { new_alarm: (_alarm, context) => startRun(process, context) },
        store: storeOf(judge, (method, apply) => call(process, method, apply)),
        leaseMs: LEASE_MS,
        handlerTimeoutMs: HANDLER_TIMEOUT_MS,
        dependencyTimeoutMs: DEPENDENCY_TIMEOUT_MS,
        logger: false,
        now: () => NOW_MS,
      }),
    };
    return process;
  };

  const processes = [startProcess(), startProcess()];
  const restart = (index: number) => {
    processes[index]?.end();
    processes[index] = startProcess();
  };

  const deliver = async (id: string, index: number): Promise<WebhookResponse | undefined> => {
    const process = processes[index];
    const response = await process?.receiver.receive(requestOf(id));
    // The answer of a dead process reaches no one.
    if (response === undefined || process?.isGone() === true) return undefined;
    judge.answered(id, response);
    world.onResponse?.(response);
    return response;
  };

  const wait = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 250) {
      clock.advance(Math.min(left, 250));
      await settle();
    }
  };

  const take = async (step: Step): Promise<void> => {
    switch (step.what) {
      case "deliver":
        void deliver(step.id, step.process);
        return;
      case "proceed":
        return scheduler.waitNext(Math.min(step.tasks, scheduler.count()));
      case "wait":
        return wait(step.ms);
      case "freeze":
        clock.advance(step.ms);
        return;
      case "fault":
        faults.push(step);
        return;
      case "restart":
        restart(step.process);
    }
  };

  for (const step of steps) {
    await take(step);
    await settle();
    judge.assertNoFault();
  }

  // From now on nothing fails, and the gateway's next attempts must get through.
  faults.length = 0;
  planned.length = 0;
  restart(0);
  restart(1);
  // Calls that are still on the network arrive.
  while (scheduler.count() > 0) {
    await scheduler.waitNext(1);
    await settle();
  }
  await wait(LEASE_MS + 250);
  for (const id of judge.deliveries()) {
    let response: WebhookResponse | undefined;
    const answered = deliver(id, 0).then((given) => {
      response = given;
    });
    for (let turn = 0; turn < 200 && response === undefined; turn++) {
      if (scheduler.count() > 0) await scheduler.waitNext(1);
      await settle();
    }
    if (response?.status !== 200)
      judge.blame(`${id} is never handled: ${response?.outcome ?? "-"}`);
    else await answered;
    judge.assertNoFault();
  }
}

function storeOf(
  judge: Judge,
  call: <T>(method: keyof DeliveryStore, apply: () => T) => T | Promise<T>,
): DeliveryStore {
  const { store } = judge;
  return {
    claim: (...given) => call("claim", () => store.claim(...given)),
    renew: (...given) => call("renew", () => store.renew(...given)),
    complete: (...given) => call("complete", () => store.complete(...given)),
    release: (...given) => call("release", () => store.release(...given)),
  };
}

type MakeStore = (now: () => number) => DeliveryStore;

const spans = fc.constantFrom(200, 900, 1_100, 2_100, 3_100, 8_000);
const methods = fc.constantFrom<keyof DeliveryStore>("claim", "renew", "complete", "release");

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: deliverStep },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("proceed" as const),
      tasks: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant("wait" as const), ms: spans }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("freeze" as const), ms: spans }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant("fault" as const),
      method: methods,
      fault: fc.constantFrom("throws", "rejects", "hangs", "loses the answer"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant("restart" as const), process: processes }),
  },
);

const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 30, size: "max" }),
  runs,
  isRemote: fc.boolean(),
});

/** The property of every plan, on stores of one kind. */
function property(makeStore: MakeStore, onResponse: (response: WebhookResponse) => void) {
  return fc.asyncProperty(plan, fc.scheduler(), async (given, scheduler) => {
    const clock = {
      now: () => performance.now(),
      advance: (ms: number) => {
        vi.advanceTimersByTime(ms);
      },
    };
    try {
      await simulate(given, { clock, scheduler, makeStore, onResponse });
    } finally {
      vi.clearAllTimers();
    }
  });
}

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }),
);

it.each<[string, MakeStore]>([
  ["the memory store", (now) => memoryStore({ maxEntries: 100, now })],
  ["another store that keeps the contract", (now) => naiveStore(now)],
])("a delivery is handled once or sent again in any order on %s", async (_which, makeStore) => {
  const seen = new Set<string>();
  await fc.assert(
    property(makeStore, ({ outcome }) => seen.add(outcome)),
    { seed: 20_251_009, numRuns: 400 },
  );
  // The plans reach every outcome of a genuine delivery.
  expect([...seen].sort()).toEqual([
    "discarded",
    "duplicate",
    "handled",
    "handler_failed",
    "handler_timeout",
    "in_flight",
    "retry_later",
    "store_unavailable",
  ]);
});

// Some mistakes show in one plan of a thousand. Each seed makes such a plan early.
it.each<[StoreMistake, string, number]>([
  ["forgets the lease", "runs again", 43],
  ["answers completed for what is in flight", "no run has succeeded", 43],
  ["releases for anyone", "runs again", 2],
  ["forgets the completion", "runs again", 43],
  ["undoes the completion on release", "runs again", 43],
  ["never ends a lease", "is never handled", 43],
  ["hides a takeover", "is claimed as no takeover", 43],
  ["forgets a takeover that is released", "is claimed as no takeover", 43],
])("the model detects a store that %s", async (mistake, fault, seed) => {
  const found = await fc.check(
    property(
      (now) => naiveStore(now, mistake),
      () => undefined,
    ),
    { seed, numRuns: 200, endOnFailure: true },
  );
  expect(found.failed).toBe(true);
  expect(String(found.errorInstance)).toContain(fault);
});
