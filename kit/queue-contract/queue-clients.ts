import { randomUUID } from "node:crypto";
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
import { GatewayWebhookError } from "../../src/common/errors.js";

/** What a worker settles with that finds its delivery leased. */
const LEASED = { result: "retry", afterMs: 1, isLeased: true } as const;
export const FAILURE = new Error("a made-up failure");
/** How often a wait looks, and how late a timer of an idle machine may be. */
const LOOK_MS = 10;

/** How late the calls and timers of a case were, together. */
interface Late {
  ms: number;
}

/** Waits, and counts what it waited too long. */
async function pauseFor(ms: number, late: Late): Promise<void> {
  const since = performance.now();
  await pause(ms);
  late.ms += Math.max(0, performance.now() - since - ms - LOOK_MS);
}

/** Makes a call that a hold must outlast, and counts how long it takes. */
async function timed<Answer>(call: () => PromiseLike<Answer>, late: Late): Promise<Answer> {
  const since = performance.now();
  try {
    return await call();
  } finally {
    late.ms += performance.now() - since;
  }
}

/** Throws an error with the code `contract_broken` with `rule` and what was found if `holds` is false. */
export function ensure(holds: boolean, rule: string, found?: unknown): void {
  if (holds) return;
  const got = found === undefined ? "" : `, but got ${JSON.stringify(found)}`;
  throw new GatewayWebhookError("contract_broken", `${rule}${got}`);
}

/** One worker of a queue: its messages run until the case settles them. */
export class QueueClient {
  readonly received: QueueMessage[] = [];
  readonly #ends = new Map<QueueMessage, () => void>();
  readonly #receiving: Receiving | undefined;
  readonly #patienceMs: number;
  readonly #late: Late;
  #taken = 0;
  #isPostponing = false;
  running = 0;
  mostRunning = 0;

  constructor(
    driver: QueueDriver<never>,
    patienceMs: number,
    { concurrency, leaseMs }: { concurrency: number; leaseMs: number },
    onBuried: () => void,
    late: Late,
  ) {
    this.#late = late;
    this.#patienceMs = patienceMs;
    this.#receiving = driver.receive?.((message) => this.#run(message), {
      concurrency,
      leaseMs,
      onError: () => undefined,
      onBuried,
    });
  }

  async #run(message: QueueMessage): Promise<void> {
    if (this.#isPostponing) {
      await message.settle(LEASED).then(undefined, () => undefined);
      return;
    }
    this.received.push(message);
    this.running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    await new Promise<void>((resolve) => {
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
      await pauseFor(LOOK_MS, this.#late);
    }
    this.#taken += 1;
    return this.received[at] ?? (await this.next(rule));
  }

  /** Postpones a message and all that still come, as a worker does that finds them leased, and stops. */
  async postpone(message: QueueMessage, timeoutMs: number): Promise<void> {
    this.#isPostponing = true;
    await this.settle(message, LEASED);
    await this.stop(timeoutMs);
  }

  /** Settles a message and ends its run. */
  async settle(message: QueueMessage, settlement: QueueSettlement): Promise<boolean> {
    const isTaken = await timed(() => message.settle(settlement), this.#late);
    this.end(message);
    return isTaken;
  }

  /** Settles a message that is done. */
  async done(message: QueueMessage, rule = "done must be taken"): Promise<void> {
    ensure(await this.settle(message, { result: "done" }), rule);
  }

  /** Gives the job of a message up. */
  async bury(message: QueueMessage): Promise<void> {
    ensure(await this.settle(message, { result: "dead", error: FAILURE }), "dead must be taken");
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
  /** Makes one more client of the queue, with a crash of its own. Without it two cases of crashes are not judged. */
  readonly newClient?: (() => MaybePromise<KillableClient>) | undefined;
  /**
   * Writes messages of another program past the driver, each with numbers and names that no driver writes: a count
   * that is negative, no number or beyond all bounds, a time that is none. Resolves to how many. Without it the case
   * of strange messages is not judged.
   */
  readonly putStrange?: (() => MaybePromise<number>) | undefined;
  /** Closes connections and deletes the data. Called once when the case ends, also if it fails. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/**
 * A client of a queue that can crash.
 *
 * @experimental
 */
export interface KillableClient {
  readonly driver: QueueDriver<never>;
  /** As `kill` of the queue. */
  readonly kill: () => MaybePromise<void>;
}

/** A rule of the contract. `isJudged` returns why a queue cannot be judged by it, if so. */
export interface QueueRule {
  readonly title: string;
  readonly isJudged?: (made: QueueUnderTest) => string | undefined;
  readonly check: (clients: QueueClients) => Promise<void>;
}

/** Stands in the body of every made-up job, and looks the same however often the body is escaped. */
export const BODY_MARK = "text-of-the-body";

/** A made-up job. */
export function madeJob(bytes = 100, id: string = randomUUID()): InboxJob {
  const text = `${BODY_MARK}${'é\\"'.repeat(10)}`;
  const body = `{"alarm":"${text.padEnd(bytes, "x")}"}`;
  return { version: 1, id, type: "new_alarm", timestamp: 1_760_000_000, encoding: "utf-8", body };
}

/** The clients of one queue. */
export class QueueClients {
  readonly made: QueueUnderTest;
  readonly holdMs: number;
  readonly #patienceMs: number;
  readonly #late: Late;
  readonly #clients: QueueClient[] = [];
  /** How many jobs the engine gave up, as any client was told. */
  buried = 0;

  constructor(made: QueueUnderTest, holdMs: number, patienceMs: number, late: Late) {
    this.#late = late;
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

  /** Starts a worker on a client of its own. */
  async fresh(): Promise<{ client: QueueClient; kill: () => MaybePromise<void> }> {
    const made = await this.made.newClient?.();
    const { driver, kill = () => undefined } = made ?? { driver: this.made.driver };
    return { client: this.#start(driver, 10, this.holdMs), kill };
  }

  /** The next message that arrives. Undefined: the engine gives the job up. */
  async nextOrBuried(client: QueueClient, rule: string): Promise<QueueMessage | undefined> {
    const isOver = new AbortController();
    const buried = async (): Promise<undefined> => {
      while (this.buried === 0 && !isOver.signal.aborted) await pause(LOOK_MS);
    };
    const next = client.next(rule);
    next.catch(() => undefined);
    try {
      return await Promise.race([next, buried()]);
    } finally {
      isOver.abort();
    }
  }

  /** Waits for a number of holds. */
  wait(holds: number): Promise<void> {
    return pauseFor(holds * this.holdMs, this.#late);
  }

  /** Watches for a number of holds that no message comes to `client` beside those it has. */
  async quiet(client: QueueClient, holds: number, rule: string): Promise<void> {
    const before = client.received.length;
    await this.wait(holds);
    ensure(client.received.length === before, rule, client.received.at(-1)?.id);
  }

  /** Holds a message for a number of holds, by extensions if it has any. */
  async hold(message: QueueMessage, holds: number, rule: string): Promise<void> {
    const extend = message.extend?.bind(message, this.holdMs);
    for (let part = 0; part < 4 * holds; part += 1) {
      if (extend !== undefined)
        ensure(await timed(extend, this.#late), `${rule}: an extension failed`);
      await this.wait(1 / 4);
    }
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.endAll();
    await Promise.all(this.#clients.map((client) => client.stop(this.holdMs)));
  }

  #start(driver: QueueDriver<never>, concurrency: number, leaseMs: number): QueueClient {
    const onBuried = () => void (this.buried += 1);
    const limits = { concurrency, leaseMs };
    const client = new QueueClient(driver, this.#patienceMs, limits, onBuried, this.#late);
    this.#clients.push(client);
    return client;
  }
}
