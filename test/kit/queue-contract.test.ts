import { beforeEach, expect, it, vi } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { pause } from "../../src/common/timers.js";
import type { QueueMessage, QueueSettlement } from "../../src/inbox/queue-driver.js";
import type { ContractResult } from "../../kit/store-contract/contract-case.js";
import { convictingCases, isAlone } from "../support/testing/convictions.js";
import { MemoryBroker, MemoryDriver, type StoredJob } from "../support/inbox/memory-queue.js";

const HOLD_MS = 400;

const nothing = () => undefined;
const always = () => true;

/** The contract on a driver, with a broker of its own for each case. */
function contractOf(Driver: typeof MemoryDriver, onHold: (ms: number) => void = nothing) {
  return queueDriverContract(
    (holdMs) => {
      onHold(holdMs);
      const broker = new MemoryBroker();
      const driver = new Driver(broker);
      const kill = () => {
        driver.isKilled = true;
      };
      const newClient = () => {
        const client = new Driver(broker);
        return { driver: client, kill: () => void (client.isKilled = true) };
      };
      const putStrange = () => driver.putStrange();
      return { driver, otherClient: new Driver(broker), kill, newClient, putStrange };
    },
    { holdMs: HOLD_MS, patienceMs: 3_000 },
  );
}

/** Runs a case on a clock of its own. */
async function runOn(
  Driver: typeof MemoryDriver,
  id: string,
  onHold?: (ms: number) => void,
): Promise<ContractResult> {
  const found = contractOf(Driver, onHold).find((one) => one.id === id);
  const ended = Promise.resolve(found?.run());
  const isOver = ended.then(always, always);
  const tick = () => vi.advanceTimersByTimeAsync(200).then(nothing);
  while ((await Promise.race([isOver, tick()])) === undefined);
  // A wrong driver may still poll.
  vi.clearAllTimers();
  return (await ended) ?? expect.fail(`there is no case ${id}`);
}

beforeEach(() => vi.useFakeTimers());

/** Methods of a driver with a flaw, in place of its own. `right` has those of the right driver. */
type Flaw = (right: MemoryDriver) => Partial<MemoryDriver>;

const METHODS = [
  ...([
    "put",
    "store",
    "take",
    "messageOf",
    "settle",
    "bury",
    "list",
    "receive",
    "stopped",
  ] as const),
  ...(["listDead", "replayDead", "takeDead", "replayThese"] as const),
];

function driverWith(flaw: Flaw): typeof MemoryDriver {
  return class extends MemoryDriver {
    constructor(broker?: MemoryBroker) {
      super(broker);
      const right = Object.create(this) as MemoryDriver;
      for (const name of METHODS) Object.assign(right, { [name]: this[name].bind(this) });
      Object.assign(this, flaw(right));
    }
  };
}

/** Changes each message that is handed out. */
const handing =
  (change: (job: StoredJob, message: QueueMessage) => Partial<QueueMessage>): Flaw =>
  (right) => ({
    messageOf(job) {
      const message = right.messageOf(job);
      return { ...message, ...change(job, message) };
    },
  });

/** Settles each message in another way than it is told. */
const settling =
  (change: (told: QueueSettlement, job: StoredJob) => QueueSettlement): Flaw =>
  (right) => ({ settle: (job, told) => right.settle(job, change(told, job)) });

const retrying = (change: object) =>
  settling((told) => (told.result === "retry" ? { ...told, ...change } : told));

/** Gives a job up after so many receipts. */
function buryingAfter(most: number): Flaw {
  const receipts = new Map<StoredJob, number>();
  return settling((told, job) => {
    receipts.set(job, (receipts.get(job) ?? 0) + 1);
    return receipts.get(job) === most ? { result: "dead", error: new Error() } : told;
  });
}

/** Who has received each job, for a driver that recovers what a crash left. */
const holders = new WeakMap<StoredJob, MemoryDriver>();
const isOrphan = (job: StoredJob) => holders.get(job)?.isKilled === true;

/** A flaw of a driver, and the case that convicts it. */
const wrong = (does: string, id: string, flaw: Flaw) => [does, id, flaw] as const;

const WRONG = [
  wrong("keeps a body as JSON", "put", (right) => ({
    put(job) {
      const isJson = job.body.trimEnd().endsWith("}");
      return right.put(isJson ? { ...job, body: JSON.stringify(JSON.parse(job.body)) } : job);
    },
  })),
  wrong("cuts long bodies", "put-largest", (right) => ({
    put: (job) =>
      right.put(job.body.length > 99_999 ? job : { ...job, body: job.body.slice(0, 50_000) }),
  })),
  wrong("takes what is too large and drops it", "put-too-large", (right) => ({
    put: (job) => right.put(job).catch(nothing),
  })),
  wrong("writes after it has answered", "put-crash", (right) => ({
    store: (job) => setTimeout(() => right.isKilled || right.store(job), 50),
  })),
  wrong("refuses the second job of a delivery", "put-same", (right) => ({
    put(job) {
      const isKnown = [...right.broker.jobs.values()].some(({ data }) => data.includes(job.id));
      return isKnown ? Promise.reject(new Error("duplicate")) : right.put(job);
    },
  })),
  wrong("buries the batch of a dead message", "apart", (right) => ({
    settle(job, told) {
      const batch = [...right.broker.jobs.values()].filter(({ receipt }) => receipt !== undefined);
      for (const one of told.result === "dead" ? batch : []) right.settle(one, told);
      return told.result === "dead" || right.settle(job, told);
    },
    // The settlements of the others are taken, and change nothing.
    ...handing((job, message) => ({
      settle: async (told) => !right.broker.jobs.has(job.key) || message.settle(told),
    }))(right),
  })),
  wrong("hands a message to each client", "exclusive", (right) => {
    const seen = new Set<StoredJob>();
    return {
      extends: "never",
      take(room, leaseMs) {
        const isShown = (job: StoredJob) =>
          holders.get(job)?.isKilled === false && job.receipt !== undefined && !seen.has(job);
        const shown = [...right.broker.jobs.values()].filter(isShown).slice(0, room);
        const taken = [...shown, ...right.take(room - shown.length, leaseMs)];
        for (const job of taken) {
          seen.add(job);
          holders.set(job, right);
        }
        return taken;
      },
    };
  }),
  wrong("holds as long as it likes", "lease", (right) => ({
    take: (room) => right.take(room, HOLD_MS),
  })),
  wrong("answers an extension and does nothing", "extend-holds", () => ({ extend: () => true })),
  wrong("finds the messages of a crashed client only when it starts", "crash", (right) => {
    for (const job of right.broker.jobs.values()) if (isOrphan(job)) holders.delete(job);
    return {
      take(room, leaseMs) {
        const orphans = [...right.broker.jobs.values()].filter(isOrphan);
        for (const job of orphans) job.dueAt = Infinity;
        const taken = right.take(room, leaseMs);
        for (const job of taken) holders.set(job, right);
        return taken;
      },
    };
  }),
  wrong(
    "says that a lost message is held",
    "lost",
    handing((_, message) => ({
      async extend(ms) {
        await message.extend?.(ms);
        return true;
      },
    })),
  ),
  wrong("takes the settlement of a lost message", "lost-settle", (right) =>
    handing((job) => ({ settle: (told) => Promise.resolve(right.settle(job, told)) }))(right),
  ),
  wrong("runs again at once", "retry-waits", retrying({ afterMs: 1 })),
  wrong("counts runs that did not fail", "postponed", retrying({ error: new Error() })),
  wrong("forgets the crashes of a job that is postponed", "crash-leased", (right) => ({
    settle(job, told) {
      const isTaken = right.settle(job, told);
      job.crashes = 0;
      return isTaken;
    },
  })),
  wrong("buries after 25 receipts", "stop-leased", buryingAfter(25)),
  wrong("takes one more than it has room for", "concurrency", (right) => ({
    take: (room, leaseMs) => right.take(room > 0 ? room + 1 : 0, leaseMs),
  })),
  wrong("stops at once", "stop-waits", () => ({ stopped: () => Promise.resolve() })),
  wrong("waits for ever when it stops", "stop-timeout", (right) => ({
    stopped: (running) => right.stopped(running, undefined),
  })),
  wrong("goes on taking until what runs has ended", "stop-takes-none", (right) => ({
    receive(run, options) {
      const receiving = right.receive(run, options);
      return {
        async stop(times) {
          const late = right.receive(run, { ...options, concurrency: 1 });
          await receiving.stop(times);
          await late.stop({ timeoutMs: 0 });
        },
      };
    },
  })),
  wrong("counts no waiting jobs", "waiting", () => ({
    waiting: () => Promise.resolve({ count: 0, oldestMs: 0, dead: 0 }),
  })),
  wrong("drops a job whose id it knows", "dead-put", (right) => {
    const known = new Set<string>();
    return {
      put(job) {
        if (known.has(job.id)) return Promise.resolve();
        known.add(job.id);
        return right.put(job);
      },
    };
  }),
  wrong("takes counts as they come", "strange", () => ({ countOf: (given) => given })),
  wrong("lists bodies", "dead-listed", (right) => ({
    async list() {
      const bodies = right.listDead().map(({ data }) => ({ data }));
      return (await right.list()).map((one, n) => ({ ...one, ...bodies[n] }));
    },
  })),
  wrong("replays the last attempt", "dead-replay", (right) => ({
    replayDead: (ids) => right.takeDead(ids, (job) => right.store({ ...job, dueAt: 0 })),
  })),
  wrong("lists the newest first", "dead-max", (right) => ({
    listDead: () => right.listDead().reverse(),
  })),
  wrong("finds no job while another call reads", "dead-together", (right) => {
    let isReading = false;
    return {
      async replay(ids, options) {
        if (isReading) return { replayed: [], notFound: ids === "all" ? [] : ids };
        isReading = true;
        await new Promise(setImmediate);
        isReading = false;
        return right.replayThese(ids, options);
      },
    };
  }),
  wrong("takes all accounts for the first", "dead-account", (right) => ({
    listDead() {
      const dead = right.listDead();
      return dead.map((one) => ({ ...one, data: dead[0]?.data }));
    },
  })),
  wrong("runs a discarded job again", "dead-discard", (right) => ({
    discardDead: (ids) => right.takeDead(ids, (job) => right.store({ ...job, dueAt: 0 })),
  })),
  wrong("replays a job that runs", "dead-live", (right) => ({
    replayDead(ids) {
      const running = [...right.broker.jobs.values()].filter(
        ({ data, receipt }) => receipt !== undefined && ids.some((id) => data.includes(id)),
      );
      for (const job of running) job.dueAt = 0;
      return running.length > 0 ? new Set(ids) : right.replayDead(ids);
    },
  })),
];

it.each(contractOf(MemoryDriver))("a right driver passes $id: $title", async ({ id }) => {
  expect(await runOn(MemoryDriver, id)).toEqual({ result: "passed" });
});

const convictions = new Map<Flaw, readonly string[]>();

it.each(WRONG)("a driver that %s is convicted by %s", async (_, id, flaw) => {
  const Driver = driverWith(flaw);
  await expect(runOn(Driver, id)).rejects.toMatchObject({ code: "contract_broken" });
  const cases = contractOf(Driver).map((one) => ({ ...one, run: () => runOn(Driver, one.id) }));
  convictions.set(flaw, await convictingCases(cases));
});

it("every case of the queue contract is the only one that convicts some wrong driver", () => {
  const ids = contractOf(MemoryDriver).map(({ id }) => id);
  const all = [...convictions.values()];
  expect(ids.filter((id) => !all.some((convicting) => isAlone(id, convicting)))).toEqual([]);
});

it("a case of the queue contract is repeated with longer holds only if calls were slow", async () => {
  const settlingIn = (ms: number): Flaw =>
    handing((_, message) => ({ settle: (told) => pause(ms).then(() => message.settle(told)) }));
  const holds: number[] = [];
  const end = (flaw: Flaw) => {
    holds.length = 0;
    return runOn(driverWith(flaw), "apart", (ms) => holds.push(ms)).catch(String);
  };
  expect(await end(settlingIn(150))).toEqual({ result: "passed" });
  expect(holds).toEqual([400, 1_600]);
  expect(await end(settlingIn(4_000))).toMatch(/ms, too long for a hold of 6400 ms: .* holdMs\)$/);
  expect(holds).toEqual([400, 1_600, 6_400]);
  expect(await end(() => ({ store: nothing }))).toMatch(/every job must come: no message came$/);
  expect(holds).toEqual([400]);
});

it("queueDriverContract refuses an unknown option and a wrong maker", () => {
  const make = queueDriverContract as (...given: unknown[]) => unknown;
  expect(() => make(() => undefined, { hold: 1 })).toThrow("hold is no option");
  expect(() => make("queue")).toThrow("makeQueue must be a function");
});
