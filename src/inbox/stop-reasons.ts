/** The reason of `context.signal` when the worker is being stopped. */
export class WorkerStoppingError extends Error {
  override readonly name = "WorkerStoppingError";
  /** Stable, so that code can branch on it. */
  readonly code = "worker_stopping";

  constructor() {
    super("the worker is being stopped");
  }
}

/** The reason of `context.signal` when another worker may be running the same job. */
export class JobLockLostError extends Error {
  override readonly name = "JobLockLostError";
  /** Stable, so that code can branch on it. */
  readonly code = "job_lock_lost";

  constructor() {
    super("the lock on the job is lost: another worker may be running it");
  }
}
