import { checkVersion, unsupportedVersion } from "../../common/option-checks.js";
import { BULLMQ } from "../queue-options.js";

// The parts of BullMQ 5 and 6 that the inbox uses, as structural types: a wrapped queue or worker fits them too.

/** The settings of a job that `add` gets. */
export interface BullmqAddOptions {
  readonly jobId: string;
  readonly attempts: number;
  readonly backoff: { readonly type: string; readonly delay: number };
  /** Seconds. */
  readonly removeOnComplete: { readonly age: number };
  readonly removeOnFail: false;
}

/** A job that waits for a worker, as a `Queue` returns it. Both times are Unix milliseconds. */
export interface BullmqWaitingJob {
  /** When it was put into the queue. */
  readonly timestamp: number;
  /** When its last run began. */
  readonly processedOn?: number | undefined;
}

/** The members of a BullMQ `Queue` that `bullmqEnqueue` uses. */
export interface BullmqQueue {
  readonly name?: string | undefined;
  /** For the metric of the oldest waiting job. */
  getJobs?(
    types: ["waiting"],
    start: number,
    end: number,
    ascending: boolean,
  ): PromiseLike<readonly (BullmqWaitingJob | undefined)[]>;
  add(name: string, data: object, options: BullmqAddOptions): PromiseLike<unknown>;
}

/** The members of a job that the worker uses. */
export interface BullmqJob {
  readonly id?: string | undefined;
  /** Anything that someone put into the queue. */
  readonly data: unknown;
  /** How often its worker crashed. */
  readonly stalledCounter?: number | undefined;
  /** How often it was started, this run included. */
  readonly attemptsStarted?: number | undefined;
  /** How often it failed. */
  readonly attemptsMade: number;
  /** When it was put into the queue, in milliseconds of Unix time. */
  readonly timestamp: number;
  /** When this run began, in milliseconds of Unix time. */
  readonly processedOn?: number | undefined;
  /** When it was completed or failed for good, in milliseconds of Unix time. */
  readonly finishedOn?: number | undefined;
  readonly opts: { readonly attempts?: number | undefined; readonly backoff?: unknown };
  /** Replaces the data in the queue. */
  updateData(data: object): PromiseLike<unknown>;
  /** Renews the lock for `duration` milliseconds. Resolves to 0 if another worker may have the job. */
  extendLock(token: string, duration: number): PromiseLike<number>;
}

/** The function that BullMQ calls with each job. */
export type BullmqProcessor = (job: BullmqJob, token?: string) => Promise<void>;

/** The members of a BullMQ `Worker` that `bullmqConsume` uses. */
export interface BullmqWorker {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "failed", listener: (job: BullmqJob | undefined, error: Error) => void): unknown;
  on(event: "lockRenewalFailed", listener: (jobIds: string[]) => void): unknown;
  close(): PromiseLike<unknown>;
  disconnect(): PromiseLike<unknown>;
  /** The Redis key of a part of the queue, or of a job. */
  toKey(type: string): string;
}

/** BullMQ's class `Worker`. */
export type BullmqWorkerClass<Options extends object> = new (
  name: string,
  processor: BullmqProcessor,
  options: Options,
) => BullmqWorker;

/** A failed job, as a `Queue` returns it. */
export interface BullmqDeadJob {
  readonly id?: string | undefined;
  readonly data: unknown;
  readonly attemptsMade: number;
  readonly finishedOn?: number | undefined;
  readonly failedReason?: string | null | undefined;
  isFailed(): PromiseLike<boolean>;
  updateData(data: object): PromiseLike<unknown>;
  remove(): PromiseLike<unknown>;
  retry(state: "failed", options: { readonly resetAttemptsMade: boolean }): PromiseLike<unknown>;
}

/** The methods of a BullMQ `Queue` that `bullmqDeadDeliveries` calls. */
export interface BullmqDeadQueue {
  getJob(id: string): PromiseLike<BullmqDeadJob | undefined>;
  getJobs(
    types: ["failed"],
    start: number,
    end: number,
    ascending: boolean,
  ): PromiseLike<readonly (BullmqDeadJob | undefined)[]>;
}

/** The Redis commands that the workers of BullMQ 5 and 6 have in common. */
export interface WorkerRedis {
  hget(key: string, field: string): Promise<string | null>;
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
  /** Resolves to the number of fields that did not exist before. */
  hset(key: string, fields: Record<string, string | number>): Promise<number>;
  hdel(key: string, ...fields: string[]): Promise<number>;
  zrevrange(key: string, start: number, end: number): Promise<string[]>;
}

/** The Redis connection of a worker: `worker.client` in BullMQ 5, that of its backend in BullMQ 6. */
export async function redisOf(worker: BullmqWorker): Promise<WorkerRedis> {
  const { client, getBackend } = worker as BullmqWorker & {
    readonly client?: PromiseLike<WorkerRedis>;
    readonly getBackend?: () => { readonly client: PromiseLike<WorkerRedis> };
  };
  const connection = client ?? getBackend?.call(worker).client;
  if (connection === undefined) throw new TypeError("BullMQ's worker has no Redis client");
  return connection;
}

/**
 * Throws `ConfigurationError` for the class of a version of bullmq that cannot work. No worker is made for it, since
 * that would start.
 */
export function checkWorkerClass(Worker: object): void {
  const members = Object(Reflect.get(Worker, "prototype")) as object;
  // Each worker gets its toKey when it is made.
  checkVersion("Worker", members, ["on", "close", "disconnect"], "bullmq", BULLMQ);
  if (!("disconnect" in members) || "client" in members || "getBackend" in members) return;
  const found = "a version of bullmq without client and getBackend";
  throw unsupportedVersion("Worker", found, BULLMQ);
}
