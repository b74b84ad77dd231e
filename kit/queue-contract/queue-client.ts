import { GatewayWebhookError } from "../../src/common/errors.js";
import { pause } from "../../src/common/timers.js";
import type {
  QueueDriver,
  QueueMessage,
  QueueSettlement,
  Receiving,
} from "../../src/inbox/queue-driver.js";

/** What a worker settles with that finds its delivery leased. */
const LEASED = { result: "retry", afterMs: 1, isLeased: true } as const;
export const FAILURE = new Error("a made-up failure");
/** How often a wait looks, and how late a timer of an idle machine may be. */
export const LOOK_MS = 10;

/** How late the calls and timers of a case were, together. */
export interface Late {
  ms: number;
}

/** Waits, and counts what it waited too long. */
export async function pauseFor(ms: number, late: Late): Promise<void> {
  const since = performance.now();
  await pause(ms);
  late.ms += Math.max(0, performance.now() - since - ms - LOOK_MS);
}

/** Makes a call that a hold must outlast, and counts how long it takes. */
export async function timed<Answer>(call: () => PromiseLike<Answer>, late: Late): Promise<Answer> {
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
