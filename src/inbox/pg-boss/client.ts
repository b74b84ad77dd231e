/** What of a queue's settings is given to `createQueue`. */
export interface PgBossQueueOptions {
  readonly name: string;
  readonly deadLetter?: string;
  readonly retryLimit?: number;
  readonly retryDelay?: number;
  readonly retryBackoff?: boolean;
  readonly expireInSeconds?: number;
  readonly retentionMinutes?: number;
}

/** What of a job's settings is given to `send`. */
export interface PgBossSendOptions {
  readonly id: string;
  readonly deadLetter: string;
  readonly retryLimit: number;
  readonly retryDelay: number;
  readonly retryBackoff: boolean;
  readonly expireInSeconds: number;
  readonly retentionMinutes: number;
}

/** The members of a started `PgBoss` (version 10) that put jobs into a queue. */
export interface PgBossProducer {
  createQueue(name: string, options?: PgBossQueueOptions): PromiseLike<unknown>;
  send(name: string, data: object, options: PgBossSendOptions): PromiseLike<string | null>;
  getJobById(
    name: string,
    id: string,
    options?: { readonly includeArchive: boolean },
  ): PromiseLike<unknown>;
}

/** The members of a job that a worker reads. */
export interface PgBossJob {
  readonly id: string;
  /** Whatever was put into the queue. */
  readonly data: unknown;
  /** A number, or its text, as PostgreSQL's driver has it. */
  readonly expireInSeconds: number | string;
  readonly retryCount: number;
  readonly retryLimit: number;
  /** When it was put into the queue: a date, or its text, as PostgreSQL's driver has it. */
  readonly createdOn: Date | string;
  /** When this run began. */
  readonly startedOn: Date | string;
  /** What was written when the job failed last. */
  readonly output: unknown;
}

/** The member of a `PgBoss` (version 10) that reaches its database. */
export interface PgBossDatabase {
  getDb(): { executeSql(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }> };
}

/** The members of a started `PgBoss` (version 10) that work a queue. */
export interface PgBossConsumer extends PgBossDatabase {
  fetch(
    name: string,
    options: { readonly batchSize: number; readonly includeMetadata: true },
  ): PromiseLike<readonly PgBossJob[]>;
}
