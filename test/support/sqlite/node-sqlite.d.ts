/**
 * The part of `node:sqlite` that the tests use, copied from @types/node 24.19, without named parameters. The types of
 * Node 20, the oldest supported Node, do not have this module.
 */
declare module "node:sqlite" {
  type SQLInputValue = null | number | bigint | string | NodeJS.ArrayBufferView;
  type SQLOutputValue = null | number | bigint | string | Uint8Array;
  interface DatabaseSyncOptions {
    readOnly?: boolean | undefined;
    readBigInts?: boolean | undefined;
    returnArrays?: boolean | undefined;
  }
  interface StatementResultingChanges {
    changes: number | bigint;
    lastInsertRowid: number | bigint;
  }
  class StatementSync {
    all(...anonymousParameters: SQLInputValue[]): Record<string, SQLOutputValue>[];
    get(...anonymousParameters: SQLInputValue[]): Record<string, SQLOutputValue> | undefined;
    iterate(
      ...anonymousParameters: SQLInputValue[]
    ): IterableIterator<Record<string, SQLOutputValue>>;
    run(...anonymousParameters: SQLInputValue[]): StatementResultingChanges;
  }
  class DatabaseSync {
    constructor(path: string | Uint8Array | URL, options?: DatabaseSyncOptions);
    close(): void;
    exec(sql: string): void;
    readonly isTransaction: boolean;
    prepare(sql: string): StatementSync;
  }
}
