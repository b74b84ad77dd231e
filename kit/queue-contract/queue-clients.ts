import { randomUUID } from "node:crypto";
import { GatewayWebhookError } from "../../src/common/errors.js";
import type { MaybePromise } from "../../src/common/promises.js";
import { pause } from "../../src/common/timers.js";
import type { DeadDeliveries } from "../../src/inbox/dead-deliveries.js";
import type { InboxJob } from "../../src/inbox/inbox-job.js";
import type {
  QueueDriver,
  QueueMessage,
  QueueSettlement,
  Receiving,
} from "../../src/inbox/queue-driver.js";

/**
 * An empty queue, made for one case.
 *
 * @experimental
 */
export interface QueueUnderTest {
  /** A driver that can list its dead jobs also has `list`, `replay` and `discard`. */
  readonly driver: QueueDriver<never> & Partial<DeadDeliveries>;
  /** A driver of the same queue, as another process has it. */
  readonly otherClient: QueueDriver<never>;
  /**
   * Ends what `driver` does, as a crash does: nothing is settled any more. Without it the cases of crashes are
   * not judged.
   */
  readonly kill?: (() => MaybePromise<void>) | undefined;
  /** Closes connections and deletes the data. Called once when the case ends, also if it fails. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** A rule of the contract. `isJudged` returns why a queue cannot be judged by it, if so. */
export interface QueueRule {
  readonly title: string;
  readonly isJudged?: (made: QueueUnderTest) => string | undefined;
  readonly check: (clients: QueueClients) => Promise<void>;
}

/** How often a wait looks. */
const LOOK_MS = 10;

/** Throws an error with the code `contract_broken` with `rule` and what was found if `holds` is false. */
export function ensure(holds: boolean, rule: string, found?: unknown): void {
  if (holds) return;
  const got = found === undefined ? "" : `, but got ${JSON.stringify(found)}`;
  throw new GatewayWebhookError("contract_broken", `${rule}${got}`);
}

/** A made-up job. */
export function madeJob(bytes = 100, id: string = randomUUID()): InboxJob {
  const text = 'é\\"'.repeat(10);
  const body = `{"alarm":"${text.padEnd(bytes, "x")}"}`;
  return { version: 1, id, type: "new_alarm", timestamp: 1_760_000_000, encoding: "utf-8", body };
}

/** One worker of a queue: its messages run until the case settles them. */
export class QueueClient {
  readonly received: QueueMessage[] = [];
  readonly #ends = new Map<QueueMessage, () => void>();
  readonly #receiving: Receiving | undefined;
  readonly #patienceMs: number;
  #taken = 0;
  running = 0;
  mostRunning = 0;

  constructor(
    driver: QueueDriver<never>,
    patienceMs: number,
    { concurrency, leaseMs }: { concurrency: number; leaseMs: number },
  ) {
    this.#patienceMs = patienceMs;
    this.#receiving = driver.receive?.((message) => this.#run(message), {
      concurrency,
      leaseMs,
      onError: () => undefined,
      onBuried: () => undefined,
    });
  }

  #run(message: QueueMessage): Promise<void> {
    this.received.push(message);
    this.running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    return new Promise((resolve) => {
      this.#ends.set(message, () => {
        this.running -= 1;
        resolve();
      });
    });
  }

  /** The next message that arrives. */
  async next(rule: string): Promise<QueueMessage> {
    const at = this.#taken;
    for (let waitedMs = 0; this.received.length <= at; waitedMs += LOOK_MS) {
      ensure(waitedMs < this.#patienceMs, `${rule}: no message came`);
      await pause(LOOK_MS);
    }
    this.#taken += 1;
    return this.received[at] ?? (await this.next(rule));
  }

  /** Settles a message and ends its run. */
  async settle(message: QueueMessage, settlement: QueueSettlement): Promise<boolean> {
    const isTaken = await message.settle(settlement);
    this.end(message);
    return isTaken;
  }

  end(message: QueueMessage): void {
    this.#ends.get(message)?.();
    this.#ends.delete(message);
  }

  /** Ends every run, and stops. */
  async stop(timeoutMs?: number): Promise<void> {
    await this.#receiving?.stop({ timeoutMs });
  }

  endAll(): void {
    for (const message of [...this.#ends.keys()]) this.end(message);
  }
}

/** The clients of one queue. */
export class QueueClients {
  readonly made: QueueUnderTest;
  readonly holdMs: number;
  readonly #patienceMs: number;
  readonly #clients: QueueClient[] = [];

  constructor(made: QueueUnderTest, holdMs: number, patienceMs: number) {
    this.made = made;
    this.holdMs = holdMs;
    this.#patienceMs = patienceMs;
  }

  /** Puts a job through the first client. */
  async put(job = madeJob()): Promise<InboxJob> {
    await this.made.driver.put(job, undefined as never);
    return job;
  }

  /** Puts a job, and receives it through the first client. */
  async take(concurrency?: number, leaseMs?: number) {
    const job = await this.put();
    const first = this.first(concurrency, leaseMs);
    return { job, first, message: await first.next("a job that is put must come") };
  }

  /** Starts a worker on the first client. */
  first(concurrency = 10, leaseMs = this.holdMs): QueueClient {
    return this.#start(this.made.driver, concurrency, leaseMs);
  }

  /** Starts a worker on the other client. */
  other(concurrency = 10, leaseMs = this.holdMs): QueueClient {
    return this.#start(this.made.otherClient, concurrency, leaseMs);
  }

  /** Waits for a number of holds. */
  wait(holds: number): Promise<void> {
    return pause(holds * this.holdMs);
  }

  /** Watches for a number of holds that no message comes to `client` beside those it has. */
  async quiet(client: QueueClient, holds: number, rule: string): Promise<void> {
    const before = client.received.length;
    await this.wait(holds);
    ensure(client.received.length === before, rule, client.received.at(-1)?.id);
  }

  /** Holds a message for a number of holds, by extensions if it has any. */
  async hold(message: QueueMessage, holds: number, rule: string): Promise<void> {
    for (let part = 0; part < 4 * holds; part += 1) {
      if (message.extend !== undefined)
        ensure(await message.extend(this.holdMs), `${rule}: an extension failed`);
      await this.wait(1 / 4);
    }
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.endAll();
    await Promise.all(this.#clients.map((client) => client.stop(this.holdMs)));
  }

  #start(driver: QueueDriver<never>, concurrency: number, leaseMs: number): QueueClient {
    const client = new QueueClient(driver, this.#patienceMs, { concurrency, leaseMs });
    this.#clients.push(client);
    return client;
  }
}
