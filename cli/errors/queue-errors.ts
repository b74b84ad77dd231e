import { oneCode, type ErrorTable } from "./error-causes.js";

const QUEUES = ["…/inbox", "…/pg-boss", "…/bullmq"];

/** Errors of the inbox and of its queues. */
export const QUEUE_ERRORS: ErrorTable = {
  QueueError: oneCode(
    QUEUES,
    "the queue refused or failed an operation; `engineCode` has the engine's own code",
    "queue_failed",
    {
      meaning: "The queue refused or failed an operation.",
      causes: [
        "its Redis or PostgreSQL is down or not reachable: see engineCode, such as ECONNREFUSED",
        "the queue or its tables do not exist: start pg-boss first, and create the queue under the same queueName",
      ],
    },
  ),
  JobFailure: oneCode(
    QUEUES,
    "what the engine stores about a failed run: name, code, first words and stack lines of the handler's error",
    "job_failed",
    {
      meaning: "A run of a job failed; this is what the engine keeps of the handler's error.",
      causes: ["the handler threw: onJob and the log of the worker have the error itself"],
    },
  ),
  UnreadableJobError: oneCode(QUEUES, "the inbox did not make this job", "unreadable_job", {
    meaning: "The data of a job is not what the inbox writes.",
    causes: [
      "another program puts jobs into the same queue: give it another queueName",
      "the job was made by a newer version of this library: update the worker",
    ],
  }),
  DeadJobError: oneCode(
    QUEUES,
    "in `onJob` and the log: the engine gave up a job although its handler did not fail",
    "dead_job",
    {
      meaning: "The engine gave up a job whose handler did not fail.",
      causes: [
        "workers crashed or were killed while they ran the job: look for memory limits and for deployments without a grace period",
        "the job took longer than the engine allows: raise its time limit, or make the handler faster; pgBossDeadDeliveries sends it again",
      ],
    },
  ),
  UnrecognizedJobError: oneCode(
    QUEUES,
    "the delivery in a job is not as documented, and there is no `unrecognized` handler",
    "unrecognized_job",
    {
      meaning: "The delivery in a job is authentic but not as documented.",
      causes: [
        "the gateway sends a type or shape that is newer than this version: update the library, or add handlers.unrecognized",
      ],
    },
  ),
  WorkerStoppingError: oneCode(
    ["…/pg-boss", "…/bullmq"],
    "`signal.reason`: the worker is stopping",
    "worker_stopping",
    {
      meaning: "The worker is stopping while the handler runs.",
      causes: ["a deployment or a shutdown: the job runs again on another worker"],
    },
  ),
  JobLockLostError: oneCode(
    ["…/bullmq"],
    "`signal.reason`: another worker may be running the job",
    "job_lock_lost",
    {
      meaning: "The lock on the job ended while its handler ran.",
      causes: [
        "the process was paused or blocked for longer than the lock lasts: remove the blocking work, or raise lockDuration",
        "the connection to Redis was lost: see the log",
      ],
    },
  ),
};
