/** What of a job's settings is given to `add`. */
export interface BullmqAddOptions {
  readonly jobId: string;
  readonly attempts: number;
  readonly backoff: { readonly type: string; readonly delay: number };
  /** Seconds. */
  readonly removeOnComplete: { readonly age: number };
  readonly removeOnFail: false;
}

/** The member of a BullMQ `Queue` that puts jobs into it. */
export interface BullmqQueue {
  add(name: string, data: object, options: BullmqAddOptions): PromiseLike<unknown>;
}

/** The members of a job that a worker reads. */
export interface BullmqJob {
  readonly id?: string | undefined;
  /** Whatever was put into the queue. */
  readonly data: unknown;
  /** How often a worker was lost over it. */
  readonly stalledCounter?: number | undefined;
  /** How often it was started, this time included. */
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
  /** Replaces what is in the queue. */
  updateData(data: object): PromiseLike<unknown>;
}

/** The function that BullMQ calls with each job. */
export type BullmqProcessor = (job: BullmqJob, token?: string) => Promise<void>;

/** The members of a BullMQ `Worker`. */
export interface BullmqWorker {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "failed", listener: (job: BullmqJob | undefined, error: Error) => void): unknown;
  on(event: "lockRenewalFailed", listener: (jobIds: string[]) => void): unknown;
  close(): PromiseLike<unknown>;
  disconnect(): PromiseLike<unknown>;
  /** The name of a key of the queue in Redis. */
  toKey(type: string): string;
}

/** BullMQ's class `Worker`. */
export type BullmqWorkerClass<Options extends object> = new (
  name: string,
  processor: BullmqProcessor,
  options: Options,
) => BullmqWorker;

/** A job among the failed ones, as a `Queue` gives it. */
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

/** The members of a BullMQ `Queue` that reach its failed jobs. */
export interface BullmqDeadQueue {
  getJob(id: string): PromiseLike<BullmqDeadJob | undefined>;
  getJobs(
    types: ["failed"],
    start: number,
    end: number,
    ascending: boolean,
  ): PromiseLike<readonly (BullmqDeadJob | undefined)[]>;
}
