/** The data of a job is not what this version of the library writes into a queue. */
export class UnreadableJobError extends Error {
  override readonly name = "UnreadableJobError";
  /** Always `unreadable_job`. */
  readonly code = "unreadable_job";

  constructor(expected: string) {
    super(`the job was not made by the inbox: expected ${expected}`);
  }
}

/** The delivery in the job is authentic but not as documented, and there is no `unrecognized` handler. */
export class UnrecognizedJobError extends Error {
  override readonly name = "UnrecognizedJobError";
  /** Always `unrecognized_job`. */
  readonly code = "unrecognized_job";
}

/**
 * The engine gave up a job, and not because its handler failed: the workers that ran it crashed, took too
 * long or lost their connection.
 */
export class DeadJobError extends Error {
  override readonly name = "DeadJobError";
  /** Always `dead_job`. */
  readonly code = "dead_job";
}

/** The reason of `context.signal` when the worker is stopped. */
export class WorkerStoppingError extends Error {
  override readonly name = "WorkerStoppingError";
  /** Always `worker_stopping`. */
  readonly code = "worker_stopping";

  constructor() {
    super("the worker is stopping");
  }
}

/** The reason of `context.signal` when another worker may be running the same job. */
export class JobLockLostError extends Error {
  override readonly name = "JobLockLostError";
  /** Always `job_lock_lost`. */
  readonly code = "job_lock_lost";

  constructor() {
    super("the lock on the job is lost: another worker may be running it");
  }
}
