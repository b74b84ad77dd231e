import type { DeadDelivery } from "./dead-deliveries.js";
import { jobNameOf } from "./inbox-job.js";
import type { QueueMessage } from "./queue-driver.js";
import { wordsOfText } from "./queue-error.js";

// What an engine keeps of a dead job that has no place of its own for attempts and error.

/** A dead job, and the data with which it can run again. */
interface DeadRecord {
  readonly delivery: DeadDelivery;
  readonly data: unknown;
}

/** The most bytes by which a record is longer than its job. */
export const DEAD_RECORD_BYTES = 1_024;

export function deadRecordOf({ data, attempt }: QueueMessage, error: Error): object {
  const failedAt = Date.now();
  return { attempts: attempt, failedAt, error: wordsOfText(error.message), data };
}

/** Reads a record. `key` names a job that the inbox did not make. */
export function readDeadRecord(content: Uint8Array, key: string): DeadRecord {
  const json = jsonOf(content);
  // An engine that gave up a job by itself has kept it as it was.
  const { attempts, failedAt, error, data = json } = Object(json) as Record<string, unknown>;
  const { id = key, type } = jobNameOf(data);
  return {
    delivery: {
      id,
      type,
      attempts: Number(attempts ?? 0),
      failedAt: new Date(Number(failedAt ?? 0)),
      error: wordsOfText(error),
    },
    data,
  };
}

/** The value of a JSON text; if it is none, the text. */
export function jsonOf(content: Uint8Array | string): unknown {
  const text = typeof content === "string" ? content : new TextDecoder().decode(content);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
