import { randomUUID } from "node:crypto";
import {
  deadDeliveriesOf,
  deadLettersById,
  type DeadDeliveries,
} from "../../../src/inbox/dead-deliveries.js";
import { countOf } from "../../../src/inbox/envelope.js";
import { jobNameOf } from "../../../src/inbox/inbox-job.js";
import type { InboxJob } from "../../../src/inbox/index.js";
import type {
  QueueDriver,
  QueueMessage,
  QueueSettlement,
  ReceiveOptions,
  Receiving,
} from "../../../src/inbox/queue-driver.js";

/** A job in the memory queue. */
export interface StoredJob {
  readonly key: string;
  readonly data: string;
  readonly enqueuedAt: Date | undefined;
  attempt: number;
  /** How many receipts have ended without a settlement since a run ended by itself. */
  crashes?: number;
  /** When it may run, or run again, by `performance.now()`. */
  dueAt: number;
  /** Which receipt holds it. */
  receipt: string | undefined;
}

/** What all clients of one memory queue share: the broker. */
export class MemoryBroker {
  readonly jobs = new Map<string, StoredJob>();
  readonly dead = new Map<string, { job: StoredJob; error: string; failedAt: Date }>();
}

/** How often a client polls. */
const POLL_MS = 5;

/** A queue driver over memory, by the book. Flawed ones override a method. */
export class MemoryDriver implements QueueDriver<unknown>, DeadDeliveries {
  readonly name = "memory";
  readonly extends: QueueDriver["extends"] = "message";
  readonly maxJobBytes: number | undefined = 100_000;
  readonly broker: MemoryBroker;
  readonly #dead: DeadDeliveries;
  isKilled = false;

  constructor(broker = new MemoryBroker()) {
    this.broker = broker;
    const letters = deadLettersById({
      list: (limit, offset) => Promise.resolve(this.listDead().slice(offset, offset + limit)),
      replay: (id) => Promise.resolve(this.replayDead([id]).has(id)),
      discard: (id) => Promise.resolve(this.discardDead([id]).has(id)),
    });
    this.#dead = deadDeliveriesOf("memory", letters);
  }

  put(job: InboxJob): Promise<void> {
    const key = randomUUID();
    const data = JSON.stringify(job);
    if (Buffer.byteLength(data) > (this.maxJobBytes ?? Infinity)) {
      return Promise.reject(new Error("too large"));
    }
    this.store({ key, data, enqueuedAt: new Date(), attempt: 0, dueAt: 0, receipt: undefined });
    return Promise.resolve();
  }

  store(job: StoredJob): void {
    this.broker.jobs.set(job.key, job);
  }

  waiting(): Promise<{ count: number; oldestMs: number; dead: number }> {
    const now = performance.now();
    const due = [...this.broker.jobs.values()].filter(({ dueAt }) => dueAt <= now);
    const oldestMs = Math.max(
      0,
      ...due.map((job) => Date.now() - (job.enqueuedAt?.getTime() ?? Infinity)),
    );
    return Promise.resolve({ count: due.length, oldestMs, dead: this.broker.dead.size });
  }

  receive(run: (message: QueueMessage) => Promise<void>, options: ReceiveOptions): Receiving {
    const running = new Set<Promise<void>>();
    let isStopped = false;
    const timer = setInterval(() => {
      if (this.isKilled) clearInterval(timer);
      if (isStopped || this.isKilled) return;
      for (const job of this.take(options.concurrency - running.size, options.leaseMs)) {
        const one = run(this.messageOf(job)).finally(() => running.delete(one));
        running.add(one);
      }
    }, POLL_MS);
    return {
      stop: async ({ timeoutMs } = {}) => {
        isStopped = true;
        clearInterval(timer);
        await this.stopped([...running], timeoutMs);
      },
    };
  }

  async stopped(running: readonly Promise<void>[], timeoutMs: number | undefined): Promise<void> {
    const late = new Promise<void>((resolve) => {
      if (timeoutMs !== undefined && timeoutMs !== Infinity) setTimeout(resolve, timeoutMs);
    });
    await Promise.race([Promise.all(running), late]);
  }

  /** Takes due jobs, at most `room`, and holds them for `leaseMs`. */
  take(room: number, leaseMs: number): StoredJob[] {
    const now = performance.now();
    const due = [...this.broker.jobs.values()].filter(({ dueAt }) => dueAt <= now).slice(0, room);
    for (const job of due) {
      if (job.receipt === undefined) job.attempt = this.countOf(job.attempt) + 1;
      else job.crashes = (job.crashes ?? 0) + 1;
      job.receipt = randomUUID();
      job.dueAt = now + leaseMs;
    }
    return due;
  }

  countOf(given: number): number {
    return countOf(given);
  }

  /** As another program with access to the broker might. */
  putStrange(): number {
    const strange = ['"junk"', '{"id":"a","type":"b"}', "null"];
    for (const [n, data] of strange.entries()) {
      const attempt = [-1e9, Number.NaN, 1e300][n] ?? 0;
      const key = randomUUID();
      this.store({ key, data, enqueuedAt: undefined, attempt, dueAt: 0, receipt: undefined });
    }
    return strange.length;
  }

  messageOf(job: StoredJob): QueueMessage {
    const { receipt } = job;
    // A killed process calls nothing more.
    const isHeld = () =>
      !this.isKilled && this.broker.jobs.get(job.key) === job && job.receipt === receipt;
    return {
      id: job.key,
      data: JSON.parse(job.data) as unknown,
      attempt: job.attempt,
      crashes: job.crashes,
      enqueuedAt: job.enqueuedAt,
      extend: (ms) => Promise.resolve(isHeld() && this.extend(job, ms)),
      settle: (settlement) => Promise.resolve(isHeld() && this.settle(job, settlement)),
    };
  }

  extend(job: StoredJob, ms: number): boolean {
    job.dueAt = performance.now() + ms;
    return true;
  }

  settle(job: StoredJob, settlement: QueueSettlement): boolean {
    job.receipt = undefined;
    if (settlement.result === "retry") {
      if (settlement.error === undefined) job.attempt -= 1;
      if (settlement.isLeased !== true) job.crashes = 0;
      job.dueAt = performance.now() + settlement.afterMs;
      return true;
    }
    this.broker.jobs.delete(job.key);
    if (settlement.result === "dead") this.bury(job, settlement.error);
    return true;
  }

  bury(job: StoredJob, { message }: Error): void {
    this.broker.dead.set(idOf(job), { job, error: message, failedAt: new Date() });
  }

  listDead() {
    return [...this.broker.dead].map(([id, { job, error, failedAt }]) => {
      const data: unknown = JSON.parse(job.data);
      const { type } = jobNameOf(data);
      return { id, type, attempts: job.attempt, failedAt, error, data };
    });
  }

  replayDead(ids: readonly string[]): ReadonlySet<string> {
    return this.takeDead(ids, (job) => {
      this.store({ ...job, key: randomUUID(), attempt: 0, crashes: 0, dueAt: 0 });
    });
  }

  discardDead(ids: readonly string[]): ReadonlySet<string> {
    return this.takeDead(ids, () => undefined);
  }

  takeDead(ids: readonly string[], act: (job: StoredJob) => void): ReadonlySet<string> {
    const found = new Set<string>();
    for (const id of ids) {
      const letter = this.broker.dead.get(id);
      if (letter === undefined) continue;
      this.broker.dead.delete(id);
      act(letter.job);
      found.add(id);
    }
    return found;
  }

  replayThese(
    ...given: Parameters<DeadDeliveries["replay"]>
  ): ReturnType<DeadDeliveries["replay"]> {
    return this.#dead.replay(...given);
  }

  list: DeadDeliveries["list"] = (options) => this.#dead.list(options);
  replay: DeadDeliveries["replay"] = (...given) => this.replayThese(...given);
  discard: DeadDeliveries["discard"] = (...given) => this.#dead.discard(...given);
}

function idOf({ data, key }: StoredJob): string {
  return jobNameOf(JSON.parse(data)).id ?? key;
}
