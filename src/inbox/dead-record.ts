import { jsonOf } from "../common/json-text.js";
import type { DeadJob } from "./dead-deliveries.js";
import { countOf, timeOf } from "./envelope.js";
import { isQueuedId, jobNameOf } from "./inbox-job.js";
import type { QueueMessage } from "./queue-driver.js";
import { wordsOfText } from "./queue-error.js";

// What an engine keeps of a dead job that has no place of its own for attempts and error.

/** A dead job, and the content of the message with which it can run again. */
interface DeadRecord {
  readonly delivery: DeadJob;
  readonly content: Uint8Array;
}

/** The most bytes by which a record is longer than its job. */
export const DEAD_RECORD_BYTES = 1_024;
const encoder = new TextEncoder();

/**
 * The record of a dead job, of at most `mostBytes`. The JSON of what another program put may be longer than its
 * `content`: then the record is the content alone, because an engine that refuses the record never gets rid of the job.
 */
export function deadRecordOf(
  { id, data, attempt }: QueueMessage,
  error: Error,
  content: Uint8Array,
  mostBytes: number,
): Uint8Array {
  const facts = { id, attempts: attempt, failedAt: Date.now(), error: wordsOfText(error.message) };
  const record = encoder.encode(JSON.stringify({ ...facts, data }));
  return record.length > mostBytes ? content : record;
}

/** Reads a record. `key` names a job that the inbox did not make, if its record does not. */
export function readDeadRecord(content: Uint8Array, key: string): DeadRecord {
  const json = jsonOf(content);
  // An engine that gave up a job by itself has kept it as it was.
  const record = Object(json) as Record<string, unknown>;
  const { attempts, failedAt, error, data = json } = record;
  const { id = isQueuedId(record["id"]) ? record["id"] : key, type } = jobNameOf(data);
  return {
    delivery: {
      id,
      type,
      attempts: countOf(attempts),
      failedAt: new Date(timeOf(failedAt) ?? 0),
      error: wordsOfText(error),
      data,
    },
    // As it is, if it is no record: its JSON may be longer than a message may be.
    content: record["data"] === undefined ? content : encoder.encode(JSON.stringify(data)),
  };
}
