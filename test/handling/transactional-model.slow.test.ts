import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import {
  createWebhookReceiver,
  DiscardDelivery,
  RetryLater,
  type WebhookReceiver,
  type WebhookResponse,
} from "../../src/index.js";
import { never } from "../support/deferred.js";
import { NOW_MS } from "../support/deliveries.js";
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
import {
  createModelDatabase,
  type ModelConnection,
  type ModelTx,
  type TransactionFault,
  type TransactionMistake,
  type TransactionPlace,
} from "../support/transactional/transactional-model-database.js";

/** One thing that happens. */
type TransactionStep =
  | { readonly what: "deliver"; readonly id: string; readonly process: number }
  | { readonly what: "proceed"; readonly tasks: number }
  | { readonly what: "wait"; readonly ms: number }
  | {
      readonly what: "fault";
      readonly place: TransactionPlace;
      readonly fault: TransactionFault;
    }
  /** The connections of a process are cut, and its handlers do not know. */
  | { readonly what: "cut"; readonly process: number }
  | { readonly what: "crash"; readonly process: number };

/** What is to happen, one thing after the other, and how the handler's runs go. */
interface TransactionPlan {
  readonly steps: readonly TransactionStep[];
  readonly runs: readonly RunPlan[];
}

/** What the simulation needs of its surroundings. */
interface TransactionWorld {
  /** Fires the timers that are due within so many milliseconds, and returns at once. */
  readonly advance: (ms: number) => void;
  /** Lets tasks finish in an order of its own. fast-check's scheduler is one. */
  readonly scheduler: Scheduler;
  readonly mistake?: TransactionMistake | undefined;
  readonly onResponse?: ((response: WebhookResponse) => void) | undefined;
}

interface Process {
  readonly receiver: WebhookReceiver;
  readonly connection: ModelConnection;
  readonly runningIds: Set<string>;
  isGone: boolean;
}

/**
 * Runs a plan on two processes over one database, and then delivers every id again without faults.
 * Rejects as soon as an acknowledged delivery does not have exactly one effect, or none if discarded.
 */
async function simulateTransactions(
  { steps, runs }: TransactionPlan,
  { advance, scheduler, mistake, onResponse }: TransactionWorld,
): Promise<void> {
  const database = createModelDatabase(mistake);
  const planned = [...runs];
  const faults: { place: TransactionPlace; fault: TransactionFault }[] = [];
  const broken: string[] = [];
  const ids = new Set<string>();
  const discarded = new Set<string>();
  const task = (label: string) => scheduler.schedule(Promise.resolve(), label);

  const runHandler = async (process: Process, tx: ModelTx): Promise<void> => {
    const { key } = tx;
    const { end, afterMs } = planned.shift() ?? SUCCEEDS;
    if (process.runningIds.has(key)) broken.push(`${key} runs twice at once in one process`);
    process.runningIds.add(key);
    tx.write();
    if (end === "never ends") await never();
    if (afterMs !== undefined) await new Promise((resolve) => setTimeout(resolve, afterMs));
    if (process.isGone) await never();
    process.runningIds.delete(key);
    if (end === "fails") throw new Error("the handler fails");
    if (end === "retries later") throw new RetryLater();
    if (end === "discards") {
      discarded.add(key);
      throw new DiscardDelivery();
    }
  };

  const startProcess = (): Process => {
    const connection = database.connect({
      task,
      isGone: () => process.isGone,
      takeFault(place) {
        const at = faults.findIndex((fault) => fault.place === place);
        return at < 0 ? undefined : faults.splice(at, 1)[0]?.fault;
      },
    });
    const process: Process = {
      connection,
      isGone: false,
      runningIds: new Set(),
      receiver: createWebhookReceiver({
        acceptUnsignedDeliveries: true,
        handlers: { new_alarm: (_alarm, { tx }) => runHandler(process, tx) },
        store: connection.store,
        handlerTimeoutMs: 2_000,
        dependencyTimeoutMs: 1_000,
        logger: false,
        now: () => NOW_MS,
      }),
    };
    return process;
  };

  const gone: Process[] = [];
  const processes: [Process, Process] = [startProcess(), startProcess()];
  const processAt = (index: number) => processes[index === 0 ? 0 : 1];
  const crash = (index: number) => {
    const process = processAt(index);
    process.isGone = true;
    process.connection.cut();
    gone.push(process);
    processes[index === 0 ? 0 : 1] = startProcess();
  };

  const deliver = async (id: string, index: number): Promise<WebhookResponse | undefined> => {
    ids.add(id);
    const process = processAt(index);
    const response = await process.receiver.receive(requestOf(id));
    // The answer of a crashed process reaches no one.
    if (process.isGone) return undefined;
    const { status, outcome } = response;
    const count = database.effects.get(id) ?? 0;
    const isDiscarded = count === 0 && discarded.has(id) && outcome !== "handled";
    if (status === 200 && count !== 1 && !isDiscarded) {
      broken.push(`${id} is acknowledged as ${outcome} with ${count} effects`);
    }
    if (outcome === "internal_error") broken.push(`${id} met a bug`);
    onResponse?.(response);
    return response;
  };

  const wait = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 250) {
      advance(Math.min(left, 250));
      await settle();
    }
  };

  const proceed = async (tasks: number): Promise<void> => {
    for (let left = tasks; left > 0 && scheduler.count() > 0; left--) {
      await scheduler.waitNext(1);
      await settle();
    }
  };

  const assertNothingBroken = (): void => {
    for (const [id, count] of database.effects) {
      if (count > 1) broken.push(`${id} has ${count} effects`);
    }
    if (broken.length > 0) throw new Error(broken.join("; "));
  };

  const take = async (step: TransactionStep): Promise<void> => {
    switch (step.what) {
      case "deliver":
        void deliver(step.id, step.process);
        return;
      case "proceed":
        return proceed(step.tasks);
      case "wait":
        return wait(step.ms);
      case "fault":
        faults.push(step);
        return;
      case "cut":
        processAt(step.process).connection.cut();
        return;
      case "crash":
        crash(step.process);
    }
  };

  for (const step of steps) {
    await take(step);
    await settle();
    assertNothingBroken();
  }

  // From here on without faults: whatever happened, the next attempts of the gateway must succeed.
  faults.length = 0;
  planned.length = 0;
  crash(0);
  crash(1);
  await proceed(Infinity);
  for (const { connection } of gone) connection.close();
  for (const id of ids) {
    let response: WebhookResponse | undefined;
    void deliver(id, 0).then((given) => (response = given));
    for (let turn = 0; turn < 100 && response === undefined; turn++) {
      await proceed(1);
      await settle();
    }
    if (response?.status !== 200)
      broken.push(`${id} is never handled: ${response?.outcome ?? "-"}`);
    assertNothingBroken();
  }
}

const step: fc.Arbitrary<TransactionStep> = fc.oneof(
  { weight: 6, arbitrary: deliverStep },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("proceed" as const),
      tasks: fc.integer({ min: 1, max: 8 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant("wait" as const),
      ms: fc.constantFrom(200, 900, 1_100, 2_100, 8_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant("fault" as const),
      place: fc.constantFrom<TransactionPlace>("begin", "commit", "commit", "rollback"),
      fault: fc.constantFrom<TransactionFault>(
        ...(["rejects", "hangs", "loses the answer", "conflicts"] as const),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("cut" as const), process: processes }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("crash" as const), process: processes }) },
);

const plan: fc.Arbitrary<TransactionPlan> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 30, size: "max" }),
  runs,
});

/** The property of every plan. */
function property(mistake?: TransactionMistake, onResponse?: (response: WebhookResponse) => void) {
  const advance = (ms: number) => {
    vi.advanceTimersByTime(ms);
  };
  return fc.asyncProperty(plan, fc.scheduler(), async (given, scheduler) => {
    try {
      await simulateTransactions(given, { advance, scheduler, mistake, onResponse });
    } finally {
      vi.clearAllTimers();
    }
  });
}

beforeEach(() =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }),
);

it("in any order of transactions, faults and crashes, an acknowledged delivery has exactly one effect", async () => {
  const seen = new Set<string>();
  await fc.assert(
    property(undefined, ({ outcome }) => seen.add(outcome)),
    { seed: 20_251_009, numRuns: 600 },
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

it.each<[TransactionMistake, string]>([
  ["remembers in a transaction of its own", "with 0 effects"],
  ["forgets to remember", "2 effects"],
  ["commits what has failed", "with 0 effects"],
  ["answers completed for what is in flight", "with 0 effects"],
  ["takes a COMMIT that was a ROLLBACK for done", "with 0 effects"],
])("the transaction model detects a store that %s", async (mistake, fault) => {
  const found = await fc.check(property(mistake), {
    seed: 20_251_009,
    numRuns: 3_000,
    endOnFailure: true,
  });
  expect(found.failed).toBe(true);
  expect(String(found.errorInstance)).toContain(fault);
});
