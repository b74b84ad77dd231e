import { describe, expect, it } from "vitest";
import { sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { quickContractCases } from "../../support/sqlite/contract-cases.js";
import { libsql, type SqliteHandle } from "../../support/sqlite/drivers.js";
import { withSqliteFolder } from "../../support/sqlite/folder.js";
import {
  NOTHING,
  RETENTION,
  committed,
  openLedger,
} from "../../support/sqlite/transaction-cases.js";

/** A `Database` of libsql has the `transaction` of better-sqlite3. */
type LibsqlHandle = SqliteHandle & { transaction(work: () => void): () => void };

// All cases, on the real clock, are in libsql-cases.slow.test.ts.
describe("the contracts of stores on libsql", () => {
  for (const { title, run } of quickContractCases(libsql)) it(title, run);
});

it("libsql: transaction() of tx throws and its delivery can be handled again", async () => {
  await withSqliteFolder(libsql, async (folder) => {
    const store = sqliteTransactions({ database: openLedger(folder) });
    const insert = "INSERT INTO effects (name) VALUES ('a')";
    const failing = store.process(
      "k",
      (tx) => {
        (tx as LibsqlHandle).transaction(() => tx.exec(insert))();
        return Promise.resolve();
      },
      RETENTION,
    );
    await expect(failing).rejects.toThrow("cannot start a transaction within a transaction");
    expect(committed(folder)).toEqual(NOTHING);
    const savepoint = store.process(
      "k",
      (tx) => {
        tx.exec(`SAVEPOINT part; ${insert}; RELEASE part`);
        return Promise.resolve();
      },
      RETENTION,
    );
    expect(await savepoint).toEqual({ state: "processed" });
    expect(committed(folder)).toEqual({ effects: ["a"], keys: ["k"] });
  });
});
