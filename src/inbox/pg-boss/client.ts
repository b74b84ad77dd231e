// The parts of pg-boss 10 that the driver uses, as structural types: a wrapper of a PgBoss fits them too.
import { invalidOption } from "../../common/errors.js";
import { missingMethod, unsupportedVersion } from "../../common/option-checks.js";

/** The settings of a queue that `createQueue` gets. */
export interface PgBossQueueSettings {
  readonly name: string;
  readonly deadLetter?: string;
  readonly retryLimit?: number;
  readonly retryDelay?: number;
  readonly retryBackoff?: boolean;
  readonly expireInSeconds?: number;
  readonly retentionMinutes?: number;
}

/** The fields of a job that the driver reads. */
export interface PgBossJob {
  readonly id: string;
  /** Anything that someone put into the queue. */
  readonly data: unknown;
  readonly retryCount: number;
  readonly retryLimit: number;
  /** How long it is held without an extension: a number or its text, depending on PostgreSQL's driver. */
  readonly expireInSeconds?: number | string | undefined;
  /** When it was put into the queue: a date or its text, depending on PostgreSQL's driver. */
  readonly createdOn: Date | string;
}

/** The methods of a started `PgBoss` (version 10) that the driver calls. */
export interface PgBossClient {
  getDb(): { executeSql(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }> };
  createQueue(name: string, options?: PgBossQueueSettings): PromiseLike<unknown>;
  fetch(
    name: string,
    options: { readonly batchSize: number; readonly includeMetadata: true },
  ): PromiseLike<readonly PgBossJob[]>;
}

/** Throws `ConfigurationError` unless `boss` is an object with the methods above, of a `PgBoss` of pg-boss 10. */
export function checkBoss(boss: unknown): void {
  // pg-boss 10 has getQueueSize in its place. The tables of later majors have other columns.
  if (missingMethod(boss, ["getQueueStats"]) === undefined) {
    throw unsupportedVersion("boss", "pg-boss 11 or later", "pg-boss 10");
  }
  const missing = missingMethod(boss, ["createQueue", "fetch", "getDb"]);
  if (missing === undefined) return;
  throw invalidOption(
    `boss must be a started PgBoss of pg-boss 10: it lacks the method ${missing}`,
  );
}
