// The parts of pg-boss 10 that the inbox uses, as structural types: a wrapper of a PgBoss fits them too.

/** The settings of a queue that `createQueue` gets. */
export interface PgBossQueueOptions {
  readonly name: string;
  readonly deadLetter?: string;
  readonly retryLimit?: number;
  readonly retryDelay?: number;
  readonly retryBackoff?: boolean;
  readonly expireInSeconds?: number;
  readonly retentionMinutes?: number;
}

/** The fields of a job that the worker reads. */
export interface PgBossJob {
  readonly id: string;
  /** Anything that someone put into the queue. */
  readonly data: unknown;
  /** A number or its text, depending on PostgreSQL's driver. */
  readonly expireInSeconds: number | string;
  readonly retryCount: number;
  readonly retryLimit: number;
  /** When it was put into the queue: a date or its text, depending on PostgreSQL's driver. */
  readonly createdOn: Date | string;
  /** When this run began. */
  readonly startedOn: Date | string;
  /** What was stored when the job last failed. */
  readonly output: unknown;
}

/** The method of a `PgBoss` (version 10) that gives access to its database. */
export interface PgBossDatabase {
  getDb(): { executeSql(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }> };
}

/** The methods of a started `PgBoss` (version 10) that `pgBossEnqueue` calls. */
export interface PgBossProducer extends PgBossDatabase {
  createQueue(name: string, options?: PgBossQueueOptions): PromiseLike<unknown>;
}

/** The methods of a started `PgBoss` (version 10) that `pgBossConsume` calls. */
export interface PgBossConsumer extends PgBossDatabase {
  fetch(
    name: string,
    options: { readonly batchSize: number; readonly includeMetadata: true },
  ): PromiseLike<readonly PgBossJob[]>;
}
