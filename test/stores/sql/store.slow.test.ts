import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  expectDuplicate,
  databaseOf,
  mustNotRun,
  type Sql,
} from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { COMPLETED, TIMES } from "../../support/stores/store-cases.js";

describeSql("the store", (engine) => {
  const db = databaseOf(engine);
  const name = engine.store;

  it(`${name} leaves nothing on the connection`, async () => {
    const single = db.server.pool({ max: 1 });
    const store = engine.makeStore(single);
    const before = await engine.sessionState(single);
    await store.migrate();
    await store.claim("session", "a", TIMES);
    await store.renew("session", "a", { leaseMs: 1_000 });
    await store.complete("session", "a", { retentionMs: 1_000 });
    await store.release("session", "a");
    await store.purge();
    expect(await engine.sessionState(single)).toEqual(before);
  });

  describe(`the options of ${name} and ${engine.transactions}`, () => {
    const makers = [engine.makeStore.bind(engine), engine.makeTransactions.bind(engine)];
    const tooLong = "a".repeat(engine.name === "MySQL" ? 65 : 64);
    const quote = engine.name === "MySQL" ? "a`b" : 'a"b';

    it.each(["", "a.b.c", "a b", "1a", ".a", "a.", quote, "a;b", "é", tooLong, null, 1])(
      "both stores refuse the table %j",
      (table) => {
        const options = { table: table as string };
        for (const make of makers) expect(() => make(db.pool, options)).toThrow(/^table must be/);
      },
    );

    it("both stores refuse anything but a pool", () => {
      for (const make of makers) {
        for (const notAPool of [undefined, null, {}, ...engine.notPools]) {
          expect(() => make(notAPool as Sql)).toThrow(engine.notAPool);
        }
      }
    });
  });

  it(`${name} keeps only the key and the end of retention`, async () => {
    const store = engine.makeStore(db.pool);
    await store.claim("handled", "a", TIMES);
    await store.complete("handled", "a", TIMES);
    const select = `SELECT owner, lease_until FROM gateway_deliveries WHERE ${engine.key} = 'handled'`;
    expect(await engine.rows(db.pool, select)).toEqual([{ owner: null, lease_until: null }]);
    expect(await engine.secondsLeft(db.pool, "expires_at", "handled")).toBeCloseTo(3600, -1);
  });
});

describeSql("two transactions that write the same row at the same time", (engine) => {
  const db = databaseOf(engine);
  const complete = (key: string) =>
    [
      `INSERT INTO gateway_deliveries (${engine.key}, expires_at) VALUES (?, ${engine.later})`,
      [key],
    ] as const;

  /** Calls while a row that completes `key` is written, and commits it once the call waits for it. */
  async function beside<T>(key: string, call: () => PromiseLike<T>): Promise<T> {
    const stranger = await engine.connect(db.pool);
    await stranger.query("BEGIN");
    await engine.rows(stranger, ...complete(key));
    const called = call();
    await expect.poll(() => engine.waitingForRows(db.pool)).toBeGreaterThan(0);
    await stranger.query("COMMIT");
    stranger.release();
    return called;
  }

  describe.each(engine.isolations)("isolation level %s", (isolation) => {
    it(`a claim of ${engine.store} sees a completion committed meanwhile`, async () => {
      const store = engine.makeStore(db.server.pool({ isolation }));
      const key = `claim ${isolation}`;
      expect(await beside(key, async () => store.claim(key, "a", TIMES))).toEqual(COMPLETED);
    });

    it(`a concurrent completion of ${engine.store} changes nothing`, async () => {
      const store = engine.makeStore(db.server.pool({ isolation }));
      const key = `complete ${isolation}`;
      await beside(key, async () => store.complete(key, "a", { retentionMs: 1 }));
      await engine.sleep(db.pool, 0.05);
      expect(await store.claim(key, "b", TIMES)).toEqual(COMPLETED);
    });

    it(`${engine.transactions} sees a completion committed meanwhile`, async () => {
      const key = `process ${isolation}`;
      const pool = db.server.pool({ isolation });
      if (engine.name === "PostgreSQL") {
        const store = engine.makeTransactions(pool);
        expect(await beside(key, () => store.process(key, mustNotRun, TIMES))).toEqual(COMPLETED);
        return;
      }
      const stranger = await engine.connect(db.pool);
      await stranger.query("BEGIN");
      const [insert, values] = complete(key);
      let committed: Promise<unknown> | undefined;
      // The row is written after the first look, so the INSERT meets it.
      const watched = engine.watched(pool, async (sql) => {
        if (!sql.includes("INSERT")) return;
        await engine.rows(stranger, insert.replace("INSERT", "INSERT IGNORE"), values);
        committed = wait(50).then(() => stranger.query("COMMIT"));
      });
      const store = engine.makeTransactions(watched);
      await expectDuplicate(store, key);
      await committed;
      stranger.release();
    });
  });
});
