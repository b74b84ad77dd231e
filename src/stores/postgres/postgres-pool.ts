/** The part of a query's result that is read. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
  /** The command tag's first word. A COMMIT that could only roll back is answered `ROLLBACK`. */
  readonly command: string;
}

/** What `postgresStore` needs of a `Pool` of pg; of one that has `totalCount` it uses `connect` too. */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
}

/** What the stores use of a client that is checked out of its pool. Of a text of several statements, `query` resolves to an array. */
export interface PostgresClient extends PostgresPool {
  /** With an error, the pool closes the connection instead of lending it again. */
  release(error?: Error): void;
  /** Closes the connection. */
  end?(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  /** `I` outside of a transaction, `T` and `E` inside of one. Older releases of pg 8 have none. */
  getTransactionStatus?(): string | null;
}

/** What `postgresTransactions` uses of a `Pool` of pg. */
export interface PostgresTransactionPool extends PostgresPool {
  connect(): Promise<PostgresClient>;
  /** `max`: how many clients the pool may have. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/**
 * The type of the clients of a pool: `PoolClient` for a `Pool` of pg. Of an overloaded method the last
 * signature is inferred from, which in pg is the one with a callback: it is named for that.
 */
export type PostgresClientOf<Pool> = Pool extends {
  connect: { (): Promise<infer Client>; (callback: never): void };
}
  ? Client
  : Pool extends { connect(): Promise<infer Client> }
    ? Client
    : never;
