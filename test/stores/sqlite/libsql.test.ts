import { rmSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { recoverDelivery } from "../../../src/management/recover-delivery.js";
import { sqliteStore, sqliteTransactions } from "../../../src/stores/sqlite/index.js";
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

it("a SQLite file is looked at when it is opened, and then once a minute", async () => {
  const now = vi.spyOn(performance, "now");
  const looks = vi.spyOn(process, "getBuiltinModule");
  await withSqliteFolder(libsql, async (folder) => {
    now.mockReturnValue(0);
    const store = sqliteStore({ database: folder.open() });
    const looksOf = async (keys: readonly string[]) => {
      looks.mockClear();
      for (const key of keys)
        await store.claim(key, "owner", { leaseMs: 1_000, retentionMs: 1_000 });
      return looks.mock.calls.length;
    };
    const seen: number[] = [];
    for (const ms of [0, 59_999, 60_000, 119_999, 120_000]) {
      now.mockReturnValue(ms);
      seen.push(await looksOf([`a${String(ms)}`, `b${String(ms)}`, `c${String(ms)}`]));
    }
    expect(seen).toEqual([0, 0, 1, 0, 1]);
  });
});

it("a SQLite store works on a handle that answers null for no row, as that of bun:sqlite does", async () => {
  await withSqliteFolder(libsql, async (folder) => {
    const handle = folder.open();
    const database = {
      exec: (sql: string) => handle.exec(sql),
      prepare(sql: string) {
        const statement = handle.prepare(sql);
        return {
          get: (...values: string[]) => statement.get(...values) ?? null,
          run: (...values: (string | number)[]) => statement.run(...values),
        };
      },
    };
    const store = sqliteStore({ database });
    const times = { leaseMs: 1_000, retentionMs: 1_000 };
    expect(await store.claim("a", "owner", times)).toMatchObject({ state: "claimed" });
  });
});

it("an option that sqliteStore does not know is refused in its name", () => {
  const options = { database: {}, colour: "red" };
  expect(() => sqliteStore(options as never)).toThrow("no option of sqliteStore");
});

it("the error about a lost SQLite file says what to do", async () => {
  const now = vi.spyOn(performance, "now");
  await withSqliteFolder(libsql, async (folder) => {
    now.mockReturnValue(0);
    const store = sqliteStore({ database: folder.open() });
    rmSync(folder.file);
    now.mockReturnValue(60_000);
    const claiming = async () => store.claim("a", "owner", { leaseMs: 1_000, retentionMs: 1_000 });
    await expect(claiming()).rejects.toThrow(
      /was deleted.* so what the store remembers would be lost: put the file back/,
    );
  });
});

it("libsql: transaction() of tx throws, and a savepoint works", async () => {
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

it("recover on sqliteTransactions commits a lost delivery once", async () => {
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
