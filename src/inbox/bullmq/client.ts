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
  /** Whatever somebody put into the queue. */
  readonly data: unknown;
  /** How often a worker was lost over it. */
  readonly stalledCounter?: number | undefined;
  readonly opts: { readonly backoff?: unknown };
}

/** The function that BullMQ calls with each job. */
export type BullmqProcessor = (job: BullmqJob, token?: string) => Promise<void>;

/** The members of a BullMQ `Worker`. */
export interface BullmqWorker {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "lockRenewalFailed", listener: (jobIds: string[]) => void): unknown;
  close(): PromiseLike<unknown>;
  disconnect(): PromiseLike<unknown>;
}

/** BullMQ's class `Worker`. */
export type BullmqWorkerClass<Options extends object> = new (
  name: string,
  processor: BullmqProcessor,
  options: Options,
) => BullmqWorker;
