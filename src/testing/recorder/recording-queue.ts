/** What a queue holds at most. */
export interface QueueBounds {
  readonly maxJobs: number;
  readonly maxBytes: number;
}

/** Does one job after the other. */
export interface RecordingQueue {
  /** Takes a job that holds so many bytes; false where there is no room. The job may not reject. */
  readonly add: (bytes: number, job: () => Promise<void>) => boolean;
  /** Resolves when all jobs that were taken so far are done. */
  readonly flush: () => Promise<void>;
}

/** Makes a queue that refuses what is beyond its bounds, so that a slow disk does not fill the memory. */
export function createRecordingQueue({ maxJobs, maxBytes }: QueueBounds): RecordingQueue {
  let jobs = 0;
  let held = 0;
  let last = Promise.resolve();

  return {
    add(bytes, job) {
      // One that is larger than all room is taken when nothing else waits.
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
