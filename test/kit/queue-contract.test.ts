import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import type { QueueSettlement } from "../../src/inbox/queue-driver.js";
import type { InboxJob } from "../../src/inbox/inbox-job.js";
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

/** Drivers with one flaw each, and the case that convicts each of them. */
const WRONG: readonly [flaw: string, id: string, typeof MemoryDriver][] = [
  [
    "forgets what is put",
    "put",
    class extends MemoryDriver {
      override store() {
        /* Nothing. */
      }
    },
  ],
  [
    "counts attempts from 0",
    "put",
    class extends MemoryDriver {
      override messageOf(job: StoredJob) {
        return { ...super.messageOf(job), attempt: job.attempt - 1 };
      }
    },
  ],
  [
    "cuts long bodies",
    "put-largest",
    class extends MemoryDriver {
      override put(job: InboxJob) {
        return super.put({ ...job, body: job.body.slice(0, 50_000) });
      }
    },
  ],
  [
    "takes what is too large and drops it",
    "put-too-large",
    class extends MemoryDriver {
      override put(job: InboxJob) {
        return super.put(job).catch(() => undefined);
      }
    },
  ],
  [
    "writes after it has answered",
    "put-crash",
    class extends MemoryDriver {
      override store(job: StoredJob) {
        setTimeout(() => {
          if (!this.isKilled) super.store(job);
        }, 50);
      }
    },
  ],
  [
    "refuses the second job of a delivery",
    "put-same",
    class extends MemoryDriver {
      override put(job: InboxJob) {
        const isKnown = [...this.broker.jobs.values()].some(({ data }) => data.includes(job.id));
        return isKnown ? Promise.reject(new Error("duplicate")) : super.put(job);
      }
    },
  ],
  [
    "keeps what is done",
    "done",
    class extends MemoryDriver {
      override settle(job: StoredJob, settlement: QueueSettlement) {
        return settlement.result === "done" || super.settle(job, settlement);
      }
    },
  ],
  [
    "settles a batch at once",
    "apart",
    class extends MemoryDriver {
      override settle(job: StoredJob, settlement: QueueSettlement) {
        for (const one of [...this.broker.jobs.values()]) super.settle(one, settlement);
        return true;
      }
    },
  ],
  [
    "hands a message to everyone",
    "exclusive",
    class extends MemoryDriver {
      override take(room: number, leaseMs: number) {
        const taken = super.take(room, leaseMs);
        for (const job of taken) job.dueAt = performance.now() + 100;
        return taken;
      }
      override extend() {
        return true;
      }
    },
  ],
  [
    "holds as long as it likes",
    "lease",
    class extends MemoryDriver {
      override take(room: number) {
        return super.take(room, HOLD_MS);
      }
    },
  ],
  [
    "answers an extension and does nothing",
    "extend-holds",
    class extends MemoryDriver {
      override extend() {
        return true;
      }
    },
  ],
  [
    "never hands out a crashed message again",
    "crash",
    class extends MemoryDriver {
      override take(room: number, leaseMs: number) {
        const taken = super.take(room, leaseMs);
        for (const job of taken) job.dueAt = Infinity;
        return taken;
      }
    },
  ],
  [
    "says that a lost message is held",
    "lost",
    class extends MemoryDriver {
      override messageOf(job: StoredJob) {
        return { ...super.messageOf(job), extend: () => Promise.resolve(true) };
      }
    },
  ],
  [
    "takes the settlement of a lost message",
    "lost-settle",
    class extends MemoryDriver {
      override messageOf(job: StoredJob) {
        const settle = (settlement: QueueSettlement) =>
          Promise.resolve(this.settle(job, settlement));
        return { ...super.messageOf(job), settle };
      }
    },
  ],
  [
    "runs again at once",
    "retry-waits",
    class extends MemoryDriver {
      override settle(job: StoredJob, settlement: QueueSettlement) {
        return super.settle(
          job,
          settlement.result === "retry" ? { ...settlement, afterMs: 1 } : settlement,
        );
      }
    },
  ],
  [
    "drops what is to run again",
    "retry-waits",
    class extends MemoryDriver {
      override settle(job: StoredJob, settlement: QueueSettlement) {
        return super.settle(job, settlement.result === "retry" ? { result: "done" } : settlement);
      }
    },
  ],
  [
    "counts no attempts",
    "retry-waits",
    class extends MemoryDriver {
      override messageOf(job: StoredJob) {
        return { ...super.messageOf(job), attempt: 1 };
      }
    },
  ],
  [
    "counts runs that did not fail",
    "postponed",
    class extends MemoryDriver {
      override settle(job: StoredJob, settlement: QueueSettlement) {
        return super.settle(
          job,
          settlement.result === "retry" ? { ...settlement, error: new Error() } : settlement,
        );
      }
    },
  ],
  [
    "forgets the crashes of a job that is postponed",
    "crash-leased",
    class extends MemoryDriver {
      override settle(job: StoredJob, settlement: QueueSettlement) {
        const isTaken = super.settle(job, settlement);
        job.crashes = 0;
        return isTaken;
      }
    },
  ],
  [
    "counts a job that another worker has like a crash",
    "stop-leased",
    class extends MemoryDriver {
      override settle(job: StoredJob, settlement: QueueSettlement) {
        job.crashes = (job.crashes ?? 0) + 1;
        return super.settle(job, settlement);
      }
    },
  ],
  [
    "buries after five receipts",
    "postponed",
    class extends MemoryDriver {
      readonly receipts = new Map<StoredJob, number>();
      override settle(job: StoredJob, settlement: QueueSettlement) {
        this.receipts.set(job, (this.receipts.get(job) ?? 0) + 1);
        const isFifth = this.receipts.get(job) === 5;
        return super.settle(job, isFifth ? { result: "dead", error: new Error() } : settlement);
      }
    },
  ],
  [
    "takes all that there is",
    "concurrency",
    class extends MemoryDriver {
      override take(_room: number, leaseMs: number) {
        return super.take(1_000, leaseMs);
      }
    },
  ],
  [
    "stops at once",
    "stop-waits",
    class extends MemoryDriver {
      override stopped() {
        return Promise.resolve();
      }
    },
  ],
  [
    "waits for ever when it stops",
    "stop-timeout",
    class extends MemoryDriver {
      override stopped(running: readonly Promise<void>[]) {
        return super.stopped(running, undefined);
      }
    },
  ],
  [
    "counts no waiting jobs",
    "waiting",
    class extends MemoryDriver {
      override waiting() {
        return Promise.resolve({ count: 0, oldestMs: 0, dead: 0 });
      }
    },
  ],
  [
    "runs a dead job again",
    "dead",
    class extends MemoryDriver {
      override bury(job: StoredJob) {
        this.store({ ...job, dueAt: 0 });
      }
    },
  ],
  [
    "takes a job whose delivery is dead, and drops it",
    "dead-put",
    class extends MemoryDriver {
      override put(job: InboxJob) {
        return this.broker.dead.has(job.id) ? Promise.resolve() : super.put(job);
      }
    },
  ],
  [
    "takes counts as they come",
    "strange",
    class extends MemoryDriver {
      override countOf(given: number) {
        return given;
      }
    },
  ],
  [
    "drops dead jobs",
    "dead-listed",
    class extends MemoryDriver {
      override bury() {
        /* Nothing. */
      }
    },
  ],
  [
    "replays twice",
    "dead-replay",
    class extends MemoryDriver {
      override replayDead(ids: readonly string[]) {
        const kept = new Map(this.broker.dead);
        const found = super.replayDead(ids);
        for (const [id, letter] of kept) this.broker.dead.set(id, letter);
        return found;
      }
    },
  ],
  [
    "replays the last attempt",
    "dead-replay",
    class extends MemoryDriver {
      override replayDead(ids: readonly string[]) {
        return this.takeDead(ids, (job) => this.store({ ...job, dueAt: 0 }));
      }
    },
  ],
  [
    "lists the newest first",
    "dead-max",
    class extends MemoryDriver {
      override listDead() {
        return super.listDead().reverse();
      }
    },
  ],
  [
    "finds no job while another call reads",
    "dead-together",
    class extends MemoryDriver {
      #reading = false;
      override replay: MemoryDriver["replay"] = async (ids, options) => {
        if (this.#reading) return { replayed: [], notFound: ids === "all" ? [] : ids };
        this.#reading = true;
        await new Promise(setImmediate);
        this.#reading = false;
        return this.replayThese(ids, options);
      };
    },
  ],
  [
    "discards nothing",
    "dead-discard",
    class extends MemoryDriver {
      override discardDead(ids: readonly string[]) {
        return new Set(ids);
      }
    },
  ],
  [
    "replays a job that runs",
    "dead-live",
    class extends MemoryDriver {
      override replayDead(ids: readonly string[]) {
        for (const job of this.broker.jobs.values()) job.dueAt = 0;
        return new Set(ids);
      }
    },
  ],
];

describe("the contract of queue drivers", () => {
  it.each(contractOf(MemoryDriver))("a right driver passes $id: $title", async ({ id }) => {
    expect(await runOn(MemoryDriver, id)).toEqual({ result: "passed" });
  });

  it.each(WRONG)("a driver that %s is convicted by %s", async (_, id, Driver) => {
    expect(await runOn(Driver, id)).toMatchObject({ code: "contract_broken" });
  });

  it("refuses an unknown option and a wrong maker", () => {
    const make = queueDriverContract as (...given: unknown[]) => unknown;
    expect(() => make(() => undefined, { hold: 1 })).toThrow("hold is no option");
    expect(() => make("queue")).toThrow("makeQueue must be a function");
  });
});
