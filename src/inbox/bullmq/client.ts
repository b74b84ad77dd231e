import { invalidOption } from "../../common/errors.js";
import { checkVersion, requireMethods } from "../../common/option-checks.js";
import { QueueError } from "../queue-error.js";

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
  const given = typeof queue === "string" ? " and not a queue's name" : "";
  const isOther = (name: string): string =>
    `queue must be a Queue object of BullMQ${given}: it lacks the method ${name}`;
  requireMethods(queue, methods, isOther);
}

/** Throws `ConfigurationError` unless `Worker` is the class of a supported version. Makes no worker. */
export function checkWorkerClass(Worker: unknown): asserts Worker is BullmqWorkerClass<object> {
  if (typeof Worker !== "function") {
    throw invalidOption("Worker must be the class Worker of bullmq");
  }
  const methods = ["on", "getNextJob", "startStalledCheckTimer", "close"];
  checkVersion("Worker", Reflect.get(Worker, "prototype"), methods, "bullmq", BULLMQ);
}

/**
 * An error of BullMQ for the log, which has only the first words of an engine's error: for PostgreSQL without the tables
 * of BullMQ, they would not say what is missing.
 */
export function namedError(error: unknown): unknown {
  const { name } = Object(error) as { readonly name?: unknown };
  if (name !== "SchemaMigrationRequiredError") return error;
  return new QueueError(
    "PostgreSQL has no tables of BullMQ: run the migrations of BullMQ, or pass migrate: true in connection",
  );
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The job id of a delivery in BullMQ. A delivery id that is a UUID is used as it is. Any other id gets the
 * prefix `#`, which no delivery id contains: BullMQ refuses whole numbers, and it stores jobs beside the
 * keys of the queue itself, so a job named `wait` or `meta` would break the queue.
 */
export function bullmqJobId(id: string): string {
  return UUID.test(id) ? id : `#${id}`;
}

/** The delivery id of a BullMQ job. A job that the inbox did not make keeps its own id. */
export function deliveryIdOfBullmqJob(jobId: string): string {
  return jobId.startsWith("#") ? jobId.slice(1) : jobId;
}
