import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import type { QueueMessage, QueueSettlement } from "../../src/inbox/queue-driver.js";
import { MemoryBroker, MemoryDriver, type StoredJob } from "../support/inbox/memory-queue.js";

const HOLD_MS = 400;

/** The contract on a driver, with a broker of its own for each case. */
function contractOf(Driver: typeof MemoryDriver) {
  return queueDriverContract(
    () => {
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
async function runOn(Driver: typeof MemoryDriver, id: string): Promise<unknown> {
  const found = contractOf(Driver).find((one) => one.id === id);
  const ended = found?.run().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(20_000);
  return ended;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Methods of a driver with a flaw, in place of its own. `right` has those of the right driver. */
type Flaw = (right: MemoryDriver) => Partial<MemoryDriver>;

const METHODS = [
  ...(["put", "store", "take", "messageOf", "settle", "stopped"] as const),
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
  (change: (job: StoredJob) => Partial<QueueMessage>): Flaw =>
  (right) => ({ messageOf: (job) => ({ ...right.messageOf(job), ...change(job) }) });

/** Settles each message in another way than it is told. */
const settling =
  (change: (told: QueueSettlement, job: StoredJob) => QueueSettlement): Flaw =>
  (right) => ({ settle: (job, told) => right.settle(job, change(told, job)) });

const retrying = (change: object) =>
  settling((told) => (told.result === "retry" ? { ...told, ...change } : told));

/** Changes each job that is taken. */
const taking =
  (change: (job: StoredJob) => void): Flaw =>
  (right) => ({
    take(room, leaseMs) {
      const taken = right.take(room, leaseMs);
      taken.forEach(change);
      return taken;
    },
  });

const nothing = () => undefined;

/** A flaw of a driver, and the case that convicts it. */
const wrong = (does: string, id: string, flaw: Flaw) => [does, id, flaw] as const;

const WRONG = [
  wrong("forgets what is put", "put", () => ({ store: nothing })),
  wrong(
    "counts attempts from 0",
    "put",
    handing(({ attempt }) => ({ attempt: attempt - 1 })),
  ),
  wrong("cuts long bodies", "put-largest", (right) => ({
    put: (job) => right.put({ ...job, body: job.body.slice(0, 50_000) }),
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
  wrong("keeps what is done", "done", (right) => ({
    settle: (job, told) => told.result === "done" || right.settle(job, told),
  })),
  wrong("settles a batch at once", "apart", (right) => ({
    settle: (_, told) => [...right.broker.jobs.values()].every((job) => right.settle(job, told)),
  })),
  wrong("hands a message to everyone", "exclusive", (right) => ({
    ...taking((job) => (job.dueAt = performance.now() + 100))(right),
    extend: () => true,
  })),
  wrong("holds as long as it likes", "lease", (right) => ({
    take: (room) => right.take(room, HOLD_MS),
  })),
  wrong("answers an extension and does nothing", "extend-holds", () => ({ extend: () => true })),
  wrong(
    "never hands out a crashed message again",
    "crash",
    taking((job) => (job.dueAt = Infinity)),
  ),
  wrong(
    "says that a lost message is held",
    "lost",
    handing(() => ({ extend: () => Promise.resolve(true) })),
  ),
  wrong("takes the settlement of a lost message", "lost-settle", (right) =>
    handing((job) => ({ settle: (told) => Promise.resolve(right.settle(job, told)) }))(right),
  ),
  wrong("runs again at once", "retry-waits", retrying({ afterMs: 1 })),
  wrong("drops what is to run again", "retry-waits", retrying({ result: "done" })),
  wrong(
    "counts no attempts",
    "retry-waits",
    handing(() => ({ attempt: 1 })),
  ),
  wrong("counts runs that did not fail", "postponed", retrying({ error: new Error() })),
  wrong("forgets the crashes of a job that is postponed", "crash-leased", (right) => ({
    settle(job, told) {
      const isTaken = right.settle(job, told);
      job.crashes = 0;
      return isTaken;
    },
  })),
  wrong(
    "counts a job that another worker has like a crash",
    "stop-leased",
    settling((told, job) => {
      job.crashes = (job.crashes ?? 0) + 1;
      return told;
    }),
  ),
  wrong("buries after five receipts", "postponed", (right) => {
    const receipts = new Map<StoredJob, number>();
    return settling((told, job) => {
      receipts.set(job, (receipts.get(job) ?? 0) + 1);
      return receipts.get(job) === 5 ? { result: "dead", error: new Error() } : told;
    })(right);
  }),
  wrong("takes all that there is", "concurrency", (right) => ({
    take: (_, leaseMs) => right.take(1_000, leaseMs),
  })),
  wrong("stops at once", "stop-waits", () => ({ stopped: () => Promise.resolve() })),
  wrong("waits for ever when it stops", "stop-timeout", (right) => ({
    stopped: (running) => right.stopped(running, undefined),
  })),
  wrong("counts no waiting jobs", "waiting", () => ({
    waiting: () => Promise.resolve({ count: 0, oldestMs: 0, dead: 0 }),
  })),
  wrong("runs a dead job again", "dead", (right) => ({
    bury: (job) => right.store({ ...job, dueAt: 0 }),
  })),
  wrong("takes a job whose delivery is dead, and drops it", "dead-put", (right) => ({
    put: (job) => (right.broker.dead.has(job.id) ? Promise.resolve() : right.put(job)),
  })),
  wrong("takes counts as they come", "strange", () => ({ countOf: (given) => given })),
  wrong("drops dead jobs", "dead-listed", () => ({ bury: nothing })),
  wrong("replays twice", "dead-replay", (right) => ({
    replayDead(ids) {
      const kept = new Map(right.broker.dead);
      const found = right.replayDead(ids);
      for (const [id, letter] of kept) right.broker.dead.set(id, letter);
      return found;
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
  wrong("discards nothing", "dead-discard", () => ({ discardDead: (ids) => new Set(ids) })),
  wrong("replays a job that runs", "dead-live", (right) => ({
    replayDead(ids) {
      for (const job of right.broker.jobs.values()) job.dueAt = 0;
      return new Set(ids);
    },
  })),
];

it.each(contractOf(MemoryDriver))("a right driver passes $id: $title", async ({ id }) => {
  expect(await runOn(MemoryDriver, id)).toEqual({ result: "passed" });
});

it.each(WRONG)("a driver that %s is convicted by %s", async (_, id, flaw) => {
  expect(await runOn(driverWith(flaw), id)).toMatchObject({ code: "contract_broken" });
});

it("queueDriverContract refuses an unknown option and a wrong maker", () => {
  const make = queueDriverContract as (...given: unknown[]) => unknown;
  expect(() => make(() => undefined, { hold: 1 })).toThrow("hold is no option");
  expect(() => make("queue")).toThrow("makeQueue must be a function");
});
