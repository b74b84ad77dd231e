import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import type { SqliteDriver } from "./drivers.js";
import type { SqliteChecks, SqliteFolder } from "./folder.js";
import { watchedHandle } from "./watched-handle.js";

const TIMES = { leaseMs: 60_000, retentionMs: 3_600_000 };
const ROUNDS = 6;
const CALLERS = 24;

/** What a power cut leaves after each commit: the file and its write-ahead log, without the shared memory. */
async function recover(folder: SqliteFolder, driver: SqliteDriver): Promise<void> {
  const { database, onCommit } = watchedHandle(folder.open());
  const store = sqliteStore({ database });
  let copies = 0;
  onCommit(() => {
    for (const part of ["", "-wal"])
      copyFileSync(folder.file + part, `${folder.file}.${copies}${part}`);
    copies += 1;
  });
  /** Acknowledged calls, each with the number of copies at that time. */
  const claimed = new Map<string, number>();
  const completed = new Map<string, number>();
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      for (let round = 0; round < ROUNDS; round++) {
        const key = `${caller}-${round}`;
        await store.claim(key, "o", TIMES);
        claimed.set(key, copies);
        if (caller % 3 === 0) continue;
        await store.complete(key, "o", TIMES);
        completed.set(key, copies);
      }
    }),
  );
  assert.ok(copies < CALLERS * ROUNDS, `${copies} commits: the calls shared none`);
  for (let copy = 0; copy < copies; copy++) {
    const recovered = driver.open(`${folder.file}.${copy}`);
    const after = sqliteStore({ database: recovered });
    const stateOf = async (key: string) => (await after.claim(key, "another", TIMES)).state;
    const atCopy = (calls: Map<string, number>) =>
      [...calls].filter(([, known]) => known <= copy + 1).map(([key]) => key);
    for (const key of atCopy(completed)) assert.equal(await stateOf(key), "completed");
    for (const key of atCopy(claimed)) assert.notEqual(await stateOf(key), "claimed");
    recovered.close();
  }
}

/** A host that loses its power. */
export const powerCutChecks: SqliteChecks = {
  "a power cut after any commit loses nothing that a group has acknowledged": recover,
};
