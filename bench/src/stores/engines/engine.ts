/** Where a receiver finds its engine. */
export interface Place {
  readonly port: number;
  /** A database of its own for each contender: a name, or for Redis a number. */
  readonly database: string;
  /** The folder of SQLite's files. */
  readonly folder: string;
}

/** A running engine. */
export interface Engine {
  /** The port of its server. Undefined if the engine runs in the receiver's process. */
  readonly port: number | undefined;
  readonly folder: string;
  /** The name of the database with that number. */
  readonly databaseOf: (number: number) => string;
  /** How often it has synced to the disk since its start. Undefined: `strace` has to count. */
  readonly syncs: (() => Promise<number>) | undefined;
  /** Bytes that our store takes in that database. For Redis all that it uses. */
  readonly bytes: (database: string) => Promise<number>;
  /** Adds this many handled ids to our table, in one statement of the engine. */
  readonly remember: (database: string, count: number) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** Creates the databases of this many contenders, and starts the engine before. */
export type StartEngine = (contenders: number) => Promise<Engine>;

/** How many connections the pool of a receiver has, ours and the hand-written one. The default of pg and mysql2. */
export const POOL_SIZE = 10;
