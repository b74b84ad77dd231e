/** Limits of a queue. */
export interface QueueBounds {
  readonly maxJobs: number;
  readonly maxBytes: number;
}

/** Runs one job after the other. */
export interface RecordingQueue {
  /** Accepts a job that holds `bytes` bytes. Returns false if the queue is full. The job must not reject. */
  readonly add: (bytes: number, job: () => Promise<void>) => boolean;
  /** Resolves when all jobs accepted so far are done. */
  readonly flush: () => Promise<void>;
}

/** A queue that refuses jobs beyond its limits, so that a slow disk does not fill the memory. */
export function createRecordingQueue({ maxJobs, maxBytes }: QueueBounds): RecordingQueue {
  let jobs = 0;
  let held = 0;
  let last = Promise.resolve();

  return {
    add(bytes, job) {
      // A job larger than the limit is accepted if nothing else waits.
      if (jobs >= maxJobs || (jobs > 0 && held + bytes > maxBytes)) return false;
      jobs += 1;
      held += bytes;
      last = last.then(job).finally(() => {
        jobs -= 1;
        held -= bytes;
      });
      return true;
    },
    flush: () => last,
  };
}
