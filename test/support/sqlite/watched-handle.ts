import type { SqliteDatabase } from "../../../src/stores/sqlite/index.js";

/** A handle for a store, whose transactions are counted and made to fail. */
export interface WatchedHandle {
  readonly database: SqliteDatabase;
  /** How many times the command was run, failures included. */
  readonly count: (command: string) => number;
  /** Makes the next runs of the command fail, without effect. */
  readonly failNext: (command: string, times: number) => void;
  /** Makes each write take this many milliseconds longer. */
  readonly slowDown: (ms: number) => void;
  /** Calls `hook` after each commit, before the store can answer. */
  readonly onCommit: (hook: () => void) => void;
}

export function watchedHandle(handle: SqliteDatabase): WatchedHandle {
  const counts = new Map<string, number>();
  const failures = new Map<string, number>();
  let slowMs = 0;
  let afterCommit: (() => void) | undefined;

  const exec = (text: string): unknown => {
    // A driver's default for busy_timeout decides what stands before BEGIN.
    const sql = text.replace(/^PRAGMA busy_timeout = 0; /, "");
    counts.set(sql, (counts.get(sql) ?? 0) + 1);
    const left = failures.get(sql) ?? 0;
    failures.set(sql, left - 1);
    if (left > 0) throw new Error("disk I/O error");
    const result = handle.exec(text);
    if (sql === "COMMIT") afterCommit?.();
    return result;
  };

  const prepare: SqliteDatabase["prepare"] = (sql) => {
    const statement = handle.prepare(sql);
    return {
      get: (...values) => statement.get(...values),
      run(...values) {
        const until = performance.now() + slowMs;
        while (performance.now() < until);
        return statement.run(...values);
      },
    };
  };

  return {
    database: { exec, prepare },
    count: (command) => counts.get(command) ?? 0,
    failNext: (command, times) => failures.set(command, times),
    slowDown: (ms) => (slowMs = ms),
    onCommit: (hook) => (afterCommit = hook),
  };
}
