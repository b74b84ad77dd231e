// The parts of pg-boss 12 that the driver uses, as structural types: a wrapper of a PgBoss fits them too.
import { missingMethod, requireMethods, unsupportedVersion } from "../../common/option-checks.js";

/** The settings of a queue, which its jobs inherit. Times are in seconds. */
export interface PgBossQueueSettings {
  readonly retryLimit?: number;
  readonly retryDelay?: number;
  readonly expireInSeconds?: number;
  readonly heartbeatSeconds?: number;
  readonly retentionSeconds: number;
}

/** The fields of a job that the driver reads. */
export interface PgBossJob {
  readonly id: string;
  /** Anything that someone put into the queue. */
  readonly data: unknown;
  /** How often it was fetched before. */
  readonly retryCount: number;
  readonly retryLimit: number;
  /** How long it is held without a `touch`. Null: nothing but its expiry ends it. */
  readonly heartbeatSeconds: number | null;
  readonly singletonKey: string | null;
  readonly createdOn: Date;
  readonly startAfter: Date;
  /** What `fail` was given. */
  readonly output: unknown;
  /** The `output` of the job of which pg-boss itself made this dead letter. */
  readonly sourceOutput: unknown;
}

/** One run of a job. A call for a run that is over changes nothing. */
interface PgBossRun {
  readonly id: string;
  readonly retryCount: number;
}

/** How many jobs a call has changed: `affected`, which pg-boss documents and its types leave out. */
type Affected = PromiseLike<object>;

/** Whether a call has changed its job. */
export async function isTaken(call: Affected): Promise<boolean> {
  const { affected } = (await call) as { readonly affected?: unknown };
  return Number(affected) > 0;
}

/** The methods of a started `PgBoss` (version 12.35 or later) that the driver calls. */
export interface PgBossClient {
  createQueue(name: string): PromiseLike<unknown>;
  updateQueue(name: string, settings: PgBossQueueSettings): PromiseLike<unknown>;
  send(
    name: string,
    data: object | null,
    options: { readonly id?: string; readonly singletonKey: string },
  ): PromiseLike<string | null>;
  fetch(
    name: string,
    options: { readonly batchSize: number; readonly includeMetadata: true },
  ): PromiseLike<readonly PgBossJob[]>;
  touch(name: string, run: PgBossRun): Affected;
  fail(name: string, run: PgBossRun | string, output: object | null): Affected;
  update(
    name: string,
    data: undefined,
    options: {
      readonly id: string;
      readonly startAfter: number;
      readonly retryLimit: number;
      readonly retentionSeconds: number;
    },
  ): PromiseLike<unknown>;
  deleteJob(name: string, run: PgBossRun | string | string[]): Affected;
  findJobs(
    name: string,
    options: {
      readonly queued: true;
      readonly limit: number;
      readonly id?: string;
      readonly key?: string;
      readonly after?: string;
    },
  ): PromiseLike<readonly PgBossJob[]>;
  redrive(
    name: string,
    options: { readonly destination: string; readonly ids: string[] },
  ): PromiseLike<number>;
  getQueueStats(
    name: string,
    options: { readonly force: true; readonly limit: 1 },
  ): PromiseLike<readonly { readonly readyCount: number; readonly queuedCount: number }[]>;
}

const METHODS = [
  "createQueue",
  "updateQueue",
  "send",
  "fetch",
  "touch",
  "fail",
  "update",
  "deleteJob",
  "findJobs",
  "redrive",
  "getQueueStats",
];

/** Throws `ConfigurationError` unless `boss` is an object with the methods above, of a `PgBoss` that has the fence. */
export function checkBoss(boss: unknown): void {
  // A PgBoss has `start`. pg-boss 12.35, the first one whose calls take a run of a job, added `isTimekeeping`.
  const isPgBoss = missingMethod(boss, ["start", "fetch"]) === undefined;
  if (isPgBoss && missingMethod(boss, ["isTimekeeping"]) !== undefined) {
    throw unsupportedVersion("boss", "a version before pg-boss 12.35", "pg-boss 12.35 and later");
  }
  requireMethods(
    boss,
    METHODS,
    (name) =>
      `boss must be a started PgBoss of pg-boss 12.35 or later: it lacks the method ${name}`,
  );
}
