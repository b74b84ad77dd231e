import * as fc from "fast-check";
import { vi } from "vitest";
import {
  createWebhookReceiver,
  DiscardDelivery,
  RetryLater,
  type WebhookOutcome,
  type DeliveryContext,
  type DeliveryStore,
  type WebhookReceiver,
  type WebhookResponse,
} from "../../src/index.js";
import { never } from "../support/deferred.js";
import { alarm, NOW_MS, NOW_SECONDS } from "../support/deliveries.js";

/** How a handler's run ends. */
type RunEnd = "succeeds" | "fails" | "discards" | "retries later" | "never ends";

type Method = "claim" | "renew" | "complete" | "release";

/** A call of the store that goes wrong. A lost answer means that the call had its effect. */
interface Fault {
  readonly method: Method;
  readonly fault: "throws" | "rejects" | "hangs" | "loses the answer";
}

/** One thing that happens. */
type Step =
  | { readonly what: "deliver"; readonly id: string; readonly process: number }
  | { readonly what: "proceed"; readonly tasks: number }
  | { readonly what: "wait"; readonly ms: number }
  /** All processes are paused, so no timer fires before the time is over. */
  | { readonly what: "freeze"; readonly ms: number }
  | ({ readonly what: "fault" } & Fault)
  | { readonly what: "crash"; readonly process: number };

/** What happens, one thing after the other, and how the handler's runs go. */
interface Plan {
  readonly steps: readonly Step[];
  /** `afterMs`: undefined if the run ends before the handler returns. */
  readonly runs: readonly { readonly end: RunEnd; readonly afterMs: number | undefined }[];
  /** Whether the store is called over a network or answers at once. */
  readonly isRemote: boolean;
}

/** A process on the way to its store. */
interface Process {
  /** Calls the store, or goes wrong as planned. */
  readonly call: <T>(method: Method, apply: () => T) => T | Promise<T>;
  /** Runs a handler as planned. */
  readonly run: (ended: (end: RunEnd) => void) => unknown;
}

/** What is simulated, and the rules that it must keep. */
interface Simulated {
  /** The store of a new process, and its handler. */
  readonly start: (process: Process) => {
    readonly store: DeliveryStore;
    readonly handler: (context: DeliveryContext) => unknown;
  };
  /** The gateway gets an answer. */
  readonly answered: (id: string, response: WebhookResponse) => void;
}

/** Makes what is simulated. `blame` tells of a broken rule. */
export type Simulation = (blame: (fault: string) => void) => Simulated;

/** Time limits of the simulated receivers. */
export const LEASE_MS = 3_000;
const TIMES = { leaseMs: LEASE_MS, handlerTimeoutMs: 2_000, dependencyTimeoutMs: 1_000 };

/** Resolves when every promise that can continue has continued. A simulation never waits for real input. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

async function wait(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 250) {
    vi.advanceTimersByTime(Math.min(left, 250));
    await settle();
  }
}

/** An unsigned alarm. */
const requestOf = (id: string) => ({
  headers: {
    "x-webhook-id": id,
    "x-webhook-type": "new_alarm",
    "x-webhook-timestamp": String(NOW_SECONDS),
  },
  body: JSON.stringify({ alarm: alarm() }),
});

/**
 * Plays a plan on two processes that share a store, and then delivers every id again without faults. Rejects as soon
 * as a rule is broken, or if a delivery is never handled.
 */
async function simulate(
  simulation: Simulation,
  plan: Plan,
  scheduler: fc.Scheduler,
  onOutcome: (outcome: WebhookOutcome) => void,
): Promise<void> {
  const broken: string[] = [];
  const { start, answered } = simulation((fault) => broken.push(fault));
  const planned = [...plan.runs];
  const faults: Fault[] = [];
  const ids = new Set<string>();
  const task = (label: string) => scheduler.schedule(Promise.resolve(), label);
  const takeFault = (method: Method) => {
    const at = faults.findIndex((fault) => fault.method === method);
    return at < 0 ? undefined : faults.splice(at, 1)[0]?.fault;
  };
  const assertNothingBroken = () => {
    if (broken.length > 0) throw new Error(broken.join("; "));
  };

  const startProcess = () => {
    let gone = false;
    const isGone = () => gone;
    const { store, handler } = start({
      call(method, apply) {
        const fault = takeFault(method);
        const failure = new Error(`the store ${fault ?? "works"}`);
        if (fault === "throws") throw failure;
        if (fault === "hangs" || gone) return never();
        if (fault === undefined && !plan.isRemote) return apply();
        return (async () => {
          await task(`${method} request`);
          if (fault === "rejects") throw failure;
          const answer = apply();
          await task(`${method} answer`);
          if (isGone()) await never();
          if (fault === "loses the answer") throw failure;
          return answer;
        })();
      },
      run(ended) {
        const { end, afterMs } = planned.shift() ?? { end: "succeeds", afterMs: undefined };
        const finish = () => {
          ended(end);
          if (end === "fails") throw new Error("the handler fails");
          if (end === "retries later") throw new RetryLater();
          if (end === "discards") throw new DiscardDelivery();
        };
        if (end === "never ends") return never();
        if (afterMs === undefined) {
          finish();
          return undefined;
        }
        return (async () => {
          await new Promise((resolve) => setTimeout(resolve, afterMs));
          await task("handler");
          if (isGone()) await never();
          finish();
        })();
      },
    });
    const receiver: WebhookReceiver = createWebhookReceiver({
      acceptUnsignedDeliveries: true,
      handlers: { new_alarm: (_alarm, context) => handler(context) },
      store,
      ...TIMES,
      logger: false,
      now: () => NOW_MS,
    });
    return { receiver, isGone, end: () => (gone = true) };
  };

  const processes = [startProcess(), startProcess()];
  const crash = (index: number) => {
    const [ended] = processes.splice(index, 1, startProcess());
    ended?.end();
  };
  const deliver = async (id: string, index: number): Promise<WebhookResponse | undefined> => {
    ids.add(id);
    const process = processes[index];
    const response = await process?.receiver.receive(requestOf(id));
    // The answer of a process that is gone reaches no one.
    if (response === undefined || process?.isGone() === true) return undefined;
    if (response.outcome === "internal_error") broken.push(`${id} met a bug`);
    answered(id, response);
    onOutcome(response.outcome);
    return response;
  };
  const proceed = async (tasks: number) => {
    for (let left = tasks; left > 0 && scheduler.count() > 0; left--) {
      await scheduler.waitNext(1);
      await settle();
    }
  };
  const take = async (step: Step) => {
    if (step.what === "deliver") void deliver(step.id, step.process);
    else if (step.what === "proceed") await proceed(step.tasks);
    else if (step.what === "wait") await wait(step.ms);
    else if (step.what === "freeze") vi.advanceTimersByTime(step.ms);
    else if (step.what === "fault") faults.push(step);
    else crash(step.process);
  };

  for (const step of plan.steps) {
    await take(step);
    await settle();
    assertNothingBroken();
  }

  // From now on nothing fails, and the gateway's next attempts must get through.
  faults.length = 0;
  planned.length = 0;
  crash(0);
  crash(1);
  // Calls that are still on the network arrive.
  await proceed(Infinity);
  await wait(LEASE_MS + 250);
  for (const id of ids) {
    let response: WebhookResponse | undefined;
    void deliver(id, 0).then((given) => (response = given));
    for (let turn = 0; turn < 200 && response === undefined; turn++) {
      await proceed(1);
      await settle();
    }
    if (response?.status !== 200)
      broken.push(`${id} is never handled: ${response?.outcome ?? "-"}`);
    assertNothingBroken();
  }
}

function plans(): fc.Arbitrary<Plan> {
  const faults = fc.record({
    method: fc.constantFrom("claim", "renew", "complete", "release"),
    fault: fc.constantFrom("throws", "rejects", "hangs", "loses the answer"),
  });
  const what = <W extends string>(name: W) => ({ what: fc.constant(name) });
  const process = fc.nat({ max: 1 });
  const ms = fc.constantFrom(200, 900, 1_100, 2_100, 3_100, 8_000);
  const ids = fc.constantFrom("one", "two");
  const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
  const step = fc.oneof(
    weighted(6, fc.record({ ...what("deliver"), id: ids, process })),
    weighted(6, fc.record({ ...what("proceed"), tasks: fc.integer({ min: 1, max: 8 }) })),
    weighted(4, fc.record({ ...what("wait"), ms })),
    weighted(
      3,
      faults.map((fault) => ({ what: "fault" as const, ...fault })),
    ),
    weighted(1, fc.record({ ...what("freeze"), ms, process })),
    weighted(1, fc.record({ ...what("crash"), process })),
  ) as fc.Arbitrary<Step>;
  const ends = [
    "succeeds",
    "succeeds",
    "fails",
    "discards",
    "retries later",
    "never ends",
  ] as const;
  const afterMs = fc.constantFrom(undefined, 0, 0, 500, 1_900, 2_500, 10_000);
  return fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 30, size: "max" }),
    runs: fc.array(fc.record({ end: fc.constantFrom(...ends), afterMs }), {
      maxLength: 8,
      size: "max",
    }),
    isRemote: fc.boolean(),
  });
}

/**
 * Plays plans until one breaks a rule. Resolves to the rule, and to the outcomes that were reached. The timers must be
 * fake, but not `setImmediate`.
 */
export async function playPlans(
  simulation: Simulation,
  parameters: { readonly seed: number; readonly numRuns: number },
) {
  const seen = new Set<WebhookOutcome>();
  const property = fc.asyncProperty(plans(), fc.scheduler(), async (plan, scheduler) => {
    try {
      await simulate(simulation, plan, scheduler, (outcome) => seen.add(outcome));
    } finally {
      vi.clearAllTimers();
    }
  });
  const { failed, errorInstance } = await fc.check(property, { ...parameters, endOnFailure: true });
  return { broken: failed ? String(errorInstance) : undefined, outcomes: [...seen].sort() };
}
