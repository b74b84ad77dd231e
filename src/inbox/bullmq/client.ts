import { invalidOption } from "../../common/errors.js";
import { checkVersion, missingMethod } from "../../common/option-checks.js";

// The parts of BullMQ 5 and 6 that the driver uses, as structural types: a wrapped queue or worker fits them too.

/** The settings of a job that `add` gets. */
export interface BullmqAddOptions {
  readonly jobId: string;
}

/** What both a waiting job and a running one have. Times are Unix milliseconds. */
interface BullmqJobState {
  readonly id?: string | undefined;
  /** Anything that someone put into the queue. */
  readonly data: unknown;
  /** How often it failed. */
  readonly attemptsMade: number;
  /** When it was put into the queue. */
  readonly timestamp: number;
  /** When its last run began. */
  readonly processedOn?: number | undefined;
  /** When it failed for good. */
  readonly finishedOn?: number | undefined;
  readonly failedReason?: string | null | undefined;
}

/** A job, as a `Queue` returns it. */
export interface BullmqStoredJob extends BullmqJobState {
  isFailed(): PromiseLike<boolean>;
  remove(): PromiseLike<unknown>;
  retry(state: "failed", options: { readonly resetAttemptsMade: boolean }): PromiseLike<unknown>;
}

/** The members of a BullMQ `Queue` that the driver uses. */
export interface BullmqQueue {
  readonly name: string;
  readonly opts?: { readonly prefix?: string | undefined };
  add(name: string, data: object, options: BullmqAddOptions): PromiseLike<unknown>;
  getJob(id: string): PromiseLike<BullmqStoredJob | undefined>;
  getJobs(
    types: ("waiting" | "failed")[],
    start: number,
    end: number,
    ascending: boolean,
  ): PromiseLike<readonly (BullmqStoredJob | undefined)[]>;
  getJobCounts(...types: ("waiting" | "failed")[]): PromiseLike<Readonly<Record<string, number>>>;
}

/** A job that a worker has fetched and locked with a token. */
export interface BullmqJob extends BullmqJobState {
  /** Why BullMQ wants the job failed instead of run: its workers crashed too often. */
  readonly deferredFailure?: string | undefined;
  /** What BullMQ does with the job at its end. */
  readonly opts: object;
  /** Resolves to 0 if the lock is lost. */
  extendLock(token: string, ms: number): PromiseLike<number>;
  moveToCompleted(value: undefined, token: string, fetchNext: false): PromiseLike<unknown>;
  moveToFailed(error: Error, token: string, fetchNext: false): PromiseLike<unknown>;
  moveToDelayed(timestamp: number, token: string): PromiseLike<unknown>;
  moveToWait(token: string): PromiseLike<unknown>;
}

/** The members of a BullMQ `Worker` that the driver uses. */
export interface BullmqWorker {
  on(event: "error", listener: (error: Error) => void): unknown;
  getNextJob(token: string): PromiseLike<BullmqJob | undefined>;
  startStalledCheckTimer(): PromiseLike<unknown>;
  close(force: true): PromiseLike<unknown>;
}

/** BullMQ's class `Worker`. */
export type BullmqWorkerClass<Options extends object> = new (
  name: string,
  processor: undefined,
  options: Options,
) => BullmqWorker;

/** The versions of bullmq that work. */
const BULLMQ = "bullmq 5.66 and later";

/** Throws `ConfigurationError` unless `queue` is a BullMQ `Queue` of a supported version. */
export function checkQueue(queue: unknown): void {
  const methods = ["add", "getJob", "getJobs", "getJobCounts"];
  checkVersion("queue", queue, methods, "bullmq", BULLMQ);
  const missing = missingMethod(queue, methods);
  if (missing === undefined) return;
  const given = typeof queue === "string" ? " and not a queue's name" : "";
  throw invalidOption(
    `queue must be a Queue object of BullMQ${given}: it lacks the method ${missing}`,
  );
}

/** Throws `ConfigurationError` unless `Worker` is the class of a supported version. Makes no worker. */
export function checkWorkerClass(Worker: unknown): asserts Worker is BullmqWorkerClass<object> {
  if (typeof Worker !== "function") {
    throw invalidOption("Worker must be the class Worker of bullmq");
  }
  const methods = ["on", "getNextJob", "startStalledCheckTimer", "close"];
  checkVersion("Worker", Reflect.get(Worker, "prototype"), methods, "bullmq", BULLMQ);
}
