/** The part of `bun:sqlite` that the tests use, copied from bun-types 1.4. */
declare module "bun:sqlite" {
  type SQLQueryBindings = string | bigint | number | boolean | null | NodeJS.TypedArray;
  interface DatabaseOptions {
    readonly?: boolean;
    create?: boolean;
    safeIntegers?: boolean;
  }
  interface Changes {
    changes: number;
    lastInsertRowid: number | bigint;
  }
  class Statement {
    all(...params: SQLQueryBindings[]): unknown[];
    get(...params: SQLQueryBindings[]): unknown;
    iterate(...params: SQLQueryBindings[]): IterableIterator<unknown>;
    run(...params: SQLQueryBindings[]): Changes;
    [Symbol.iterator](): IterableIterator<unknown>;
  }
  class Database {
    constructor(filename?: string, options?: number | DatabaseOptions);
    close(throwOnError?: boolean): void;
    exec(sql: string, ...bindings: SQLQueryBindings[]): Changes;
    prepare(sql: string): Statement;
    query(sql: string): Statement;
    readonly inTransaction: boolean;
  }
}
