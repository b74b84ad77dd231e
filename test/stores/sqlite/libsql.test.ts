import { describe, expect, it } from "vitest";
import { recoverDelivery } from "../../../src/management/recover-delivery.js";
import { sqliteTransactions } from "../../../src/stores/sqlite/index.js";
import { delivery } from "../../support/deliveries.js";
import { quickContractCases } from "../../support/sqlite/all-cases.js";
import { libsql, type SqliteHandle } from "../../support/sqlite/drivers.js";
import { withSqliteFolder } from "../../support/sqlite/folder.js";
import { lostFileChecks } from "../../support/sqlite/store-cases.js";
import {
  NOTHING,
  RETENTION,
  committed,
  openLedger,
  writes,
} from "../../support/sqlite/transaction-cases.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

/** A `Database` of libsql has the `transaction` of better-sqlite3. */
type LibsqlHandle = SqliteHandle & { transaction(work: () => void): () => void };

// All cases, on the real clock, are in drivers.slow.test.ts.
describe("the contracts of stores on libsql", () => {
  it.each(quickContractCases(libsql))("$title", async ({ run }) => {
    await run();
  });
});

it.each(Object.entries(lostFileChecks))("on libsql %s", async (_title, check) => {
  await withSqliteFolder(libsql, (folder) => check(folder, libsql));
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

it("recover on sqliteTransactions commits a lost delivery with its writes, once", async () => {
  await withSqliteFolder(libsql, async (folder) => {
    const store = sqliteTransactions({ database: openLedger(folder) });
    const seen: unknown[] = [];
    const receiver = transactionalReceiver(store, (context) => {
      seen.push(context.recovered);
      return writes(context.id)(context.tx);
    });
    const { body } = await delivery({ id: "lost" });
    const lost = { id: "lost", type: "new_alarm", body: body as string };
    const together = await Promise.all([
      recoverDelivery(receiver, lost),
      recoverDelivery(receiver, lost),
    ]);
    expect(together.map(({ outcome }) => outcome)).toEqual(["handled", "in_flight"]);
    expect((await recoverDelivery(receiver, lost)).outcome).toBe("duplicate");
    expect(seen).toEqual([true]);
    expect(committed(folder)).toEqual({ effects: ["lost"], keys: ["lost"] });
  });
});
