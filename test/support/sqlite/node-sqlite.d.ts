/**
 * The part of `node:sqlite` that the tests use, copied from @types/node 24.19. The types of Node 20, the
 * oldest supported Node, do not have this module.
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
    private constructor();
    all(...anonymousParameters: SQLInputValue[]): Record<string, SQLOutputValue>[];
    all(
      namedParameters: Record<string, SQLInputValue>,
      ...anonymousParameters: SQLInputValue[]
    ): Record<string, SQLOutputValue>[];
    get(...anonymousParameters: SQLInputValue[]): Record<string, SQLOutputValue> | undefined;
    get(
      namedParameters: Record<string, SQLInputValue>,
      ...anonymousParameters: SQLInputValue[]
    ): Record<string, SQLOutputValue> | undefined;
    iterate(
      ...anonymousParameters: SQLInputValue[]
    ): IterableIterator<Record<string, SQLOutputValue>>;
    run(...anonymousParameters: SQLInputValue[]): StatementResultingChanges;
    run(
      namedParameters: Record<string, SQLInputValue>,
      ...anonymousParameters: SQLInputValue[]
    ): StatementResultingChanges;
  }
  class DatabaseSync {
    constructor(path: string | Uint8Array | URL, options?: DatabaseSyncOptions);
    close(): void;
    exec(sql: string): void;
    readonly isOpen: boolean;
    readonly isTransaction: boolean;
    prepare(sql: string): StatementSync;
  }
}
