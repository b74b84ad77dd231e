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
  /** Whatever somebody put into the queue. */
  readonly data: unknown;
  /** A number, or its text, as PostgreSQL's driver has it. */
  readonly expireInSeconds: number | string;
  readonly retryCount: number;
  readonly retryLimit: number;
  /** What was written when the job failed last. */
  readonly output: unknown;
}

/** The members of a started `PgBoss` (version 10) that work a queue. */
export interface PgBossConsumer {
  fetch(
    name: string,
    options: { readonly batchSize: number; readonly includeMetadata: true },
  ): PromiseLike<readonly PgBossJob[]>;
  complete(name: string, id: string): PromiseLike<unknown>;
  getDb(): { executeSql(text: string, values: unknown[]): PromiseLike<{ rows: unknown[] }> };
}
