import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { transactionalStoreContract } from "../../../kit/store-contract/transactional-store-contract.js";
import type { TransactionalStore } from "../../../src/index.js";
import {
  sqlSchema,
  sqlTransactions,
  type SqlDialect,
  type SqlTransactionsOptions,
} from "../../../src/stores/sql/index.js";
import type { WorkFacts } from "../../../src/stores/transactional-store.js";
import { startCommitProxy } from "../../support/commit-proxy.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import {
  databaseOf,
  mustNotRun,
  type Sql,
  type SqlEngine,
} from "../../support/stores/sql-engine.js";
import { TIMES } from "../../support/stores/store-cases.js";
import { rowsOfRun } from "../../support/extent.js";
import { REPOSITORY } from "../../support/package/installed-package.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { addressOf, CONNECTIONS, openOrm, ORMS, type Connection, type Orm } from "./orms/orm.js";

/**
 * In each run: a query builder and an ORM with an engine of its own, and Kysely alone on the other databases. What the
 * statements do there is proven by the stores' own tests of MySQL and SQLite.
 */
const ormsOf = (dialect: SqlDialect) =>
  rowsOfRun(
    ORMS.filter(([, dialects]) => dialects.includes(dialect)),
    ([name]) => name === "kysely" || (name === "prisma" && dialect === "postgres"),
  );

/** The ORMs whose process is killed. */
const KILLED: readonly string[] = ["prisma", "drizzle"];

const BREAKS = [
  ["whose answer is lost", "lose the answer", "completed"],
  ["that is lost", "lose the command", "processed"],
] as const;

/** What differs from database to database. */
const WORDS = {
  postgres: {
    times: ["expires_at", "lease_until"],
    earlier: (column: string, ms: number) => `${column} - ${String(ms)} * interval '1 ms'`,
    text: "text",
  },
  mysql: {
    times: ["expires_at", "lease_until"],
    earlier: (column: string, ms: number) => `${column} - ${String(ms)}`,
    text: "varchar(200) COLLATE utf8mb4_bin",
  },
  sqlite: {
    times: ["forget_at", "lease_ends_at"],
    earlier: (column: string, ms: number) => `${column} - ${String(ms)}`,
    text: "text",
  },
} as const;

/** Two clients of one database, and the table of effects. */
interface Place {
  readonly orm: Orm;
  readonly other: Orm;
  /** Runs a statement in a transaction of its own. */
  readonly run: (sql: string) => Promise<unknown>;
  readonly rows: (sql: string) => Promise<readonly Record<string, unknown>[]>;
}

async function openPlace(
  name: string,
  dialect: SqlDialect,
  connection: Connection,
): Promise<Place> {
  const orm = await openOrm(name, dialect, connection);
  // A client of libsql commits nothing more after it was refused a lock once.
  const isAlone = dialect === "sqlite" && ["mikro-orm", "drizzle"].includes(name);
  const other = isAlone ? orm : await openOrm(name, dialect, connection);
  const run = (sql: string) =>
    orm.transaction(async (tx) => {
      await orm.run(tx, sql);
    });
  await run(`CREATE TABLE IF NOT EXISTS effects (name ${WORDS[dialect].text})`);
  return {
    orm,
    other,
    run,
    async rows(sql) {
      let found: unknown;
      await orm.transaction(async (tx) => {
        found = await orm.query(tx, sql, []);
      });
      const rows = Array.isArray(found) ? found : (found as { rows: unknown[] }).rows;
      return (Array.isArray(rows[0]) ? rows[0] : rows) as Record<string, unknown>[];
    },
  };
}

function storeOf({ transaction, query }: Orm, dialect: SqlDialect, table?: string) {
  const connections = dialect === "sqlite" ? undefined : CONNECTIONS;
  return sqlTransactions({ dialect, transaction, query, connections, table });
}

function contractOf(name: string, place: () => Place, dialect: SqlDialect) {
  const cases = transactionalStoreContract(async () => {
    const { orm, other, run, rows } = place();
    const table = `t_${randomUUID().replaceAll("-", "_")}`;
    await run(sqlSchema(dialect, table));
    await run("DELETE FROM effects");
    const { times, earlier } = WORDS[dialect];
    const store = storeOf(orm, dialect, table);
    return {
      store,
      otherClient: orm === other ? store : storeOf(other, dialect, table),
      write: (tx: unknown, text: string) => orm.write(tx, text),
      written: async () =>
        (await rows("SELECT name FROM effects")).map(({ name }) =>
          Buffer.from(name as string).toString(),
        ),
      async advance(ms: number) {
        const sets = times.map((column) => `${column} = ${earlier(column, ms)}`);
        await run(`UPDATE ${table} SET ${sets.join(", ")}`);
      },
    };
  });
  // What the keys are is the affair of the statements, and these cases take half of the time of all.
  return name === "kysely" ? cases : cases.filter(({ id }) => !id.startsWith("keys-"));
}

const ENGINES: readonly (readonly [SqlDialect, SqlEngine])[] = [
  ["postgres", postgresEngine],
  ["mysql", mysqlEngine],
];

for (const [dialect, engine] of ENGINES) {
  engine.describe(`sqlTransactions on ${engine.name}`, () => {
    const db = databaseOf(engine);

    /** A transaction on a connection of the pool, as an ORM runs it. */
    const transaction = async (run: (tx: Sql) => Promise<void>) => {
      const tx = await engine.connect(db.pool);
      try {
        await tx.query("BEGIN");
        await run(tx);
        await tx.query("COMMIT");
      } catch (error) {
        await tx.query("ROLLBACK");
        throw error;
      } finally {
        tx.release();
      }
    };
    const inTransaction = (tx: Sql, sql: string) => tx.query(sql);
    const make = (options: Partial<SqlTransactionsOptions<Sql>>) =>
      sqlTransactions({
        dialect,
        transaction,
        query: inTransaction,
        connections: 10,
        ...options,
      });

    it.each<[string, Partial<SqlTransactionsOptions<Sql>>]>([
      ["query runs beside the transaction", { query: (_, sql) => db.pool.query(sql) }],
      ["transaction commits whatever its callback does", { transaction: committing }],
    ])(`sqlTransactions refuses each delivery on ${engine.name} if %s`, async (_, options) => {
      const store = make(options);
      for (const key of ["first", "second"]) {
        await expect(store.process(key, mustNotRun, TIMES)).rejects.toMatchObject({
          code: "transaction_misuse",
        });
        expect(await db.effects.remembered(key)).toBe(0);
      }
    });

    it(`sqlTransactions rejects on ${engine.name} if transaction rolls back and resolves`, async () => {
      let isLost = false;
      const store = make({
        transaction: (run) =>
          transaction(async (tx) => {
            await run(tx);
            if (isLost) await tx.query("ROLLBACK");
            isLost = false;
          }),
      });
      expect((await store.process("kept", () => Promise.resolve(), TIMES)).state).toBe("processed");
      isLost = true;
      const lost = store.process("lost", (tx) => db.effects.write(tx, "lost"), TIMES);
      await expect(lost).rejects.toMatchObject({ code: "transaction_aborted" });
      expect(await db.effects.of("lost")).toBe(0);
    });

    it(`one connection of ${engine.name} that hangs at the first delivery holds no other up`, async () => {
      let begun = 0;
      const store = make({
        transaction: (run) => {
          begun += 1;
          return begun === 1 ? new Promise(() => undefined) : transaction(run);
        },
      });
      void store.process("hanging", mustNotRun, TIMES);
      expect((await store.process("next", () => Promise.resolve(), TIMES)).state).toBe("processed");
    });

    it(`sqlTransactions rejects on ${engine.name} if transaction resolves before its callback has ended`, async () => {
      let isHasty = false;
      const store = make({
        transaction: async (run) => {
          if (isHasty) void transaction(run).catch(() => undefined);
          else await transaction(run);
        },
      });
      await store.process("before", () => Promise.resolve(), TIMES);
      isHasty = true;
      await expect(store.process("hasty", mustNotRun, TIMES)).rejects.toMatchObject({
        code: "transaction_misuse",
      });
    });

    it(`a handler that sends COMMIT by itself on ${engine.name} is taken over after a failure`, async () => {
      const store = make({});
      const early = store.process(
        "early",
        async (tx) => {
          await tx.query("COMMIT");
          throw new RangeError("after it");
        },
        TIMES,
      );
      await expect(early).rejects.toThrow(RangeError);
      const takeovers: unknown[] = [];
      const work = (_: Sql, facts?: WorkFacts) => {
        takeovers.push(facts?.takeover);
        return Promise.resolve();
      };
      expect((await store.process("early", work, TIMES)).state).toBe("processed");
      expect(takeovers).toEqual([true]);
    });

    async function committing(run: (tx: Sql) => Promise<void>): Promise<void> {
      const tx = await engine.connect(db.pool);
      await tx.query("BEGIN");
      await run(tx).catch(() => undefined);
      await tx.query("COMMIT");
      tx.release();
    }

    describe.each(ormsOf(dialect))("with %s", (name) => {
      let place: Place;
      beforeAll(async () => {
        place = await openPlace(name, dialect, addressOf(dialect, db.server.port));
      });
      afterAll(async () => {
        await Promise.all([place.orm.close(), place.other.close()]);
      });

      it.each(contractOf(name, () => place, dialect))(`${name}: $title`, async ({ run }) => {
        await run();
      });

      it(`${name}: what the handler does after its end does not count`, async () => {
        const key = `${name} late`;
        let kept: unknown;
        const result = await stateOf(store(), key, (tx) => {
          kept = tx;
          return Promise.resolve();
        });
        expect(result).toBe("processed");
        const late = (async () => place.orm.write(kept, key))();
        await expect(late).rejects.toMatchObject({ code: "transaction_misuse" });
        expect(await db.effects.of(key)).toBe(0);
      });

      it(`${name}: a statement whose error the handler drops never leaves half of a delivery`, async () => {
        const key = `${name} dropped`;
        const result = await stateOf(store(), key, async (tx) => {
          await place.orm.write(tx, key);
          await place.orm.run(tx, "SELECT nothing FROM nowhere").catch(() => undefined);
        });
        // Only PostgreSQL ends a transaction because of one statement.
        const isHandled = dialect === "mysql";
        expect(result).toBe(isHandled ? "processed" : "transaction_aborted");
        expect(await db.effects.of(key)).toBe(isHandled ? 1 : 0);
        expect(await db.effects.remembered(key)).toBe(isHandled ? 1 : 0);
        expect(await again(key)).toBe(isHandled ? "completed" : "processed");
      });

      it(`${name}: statements that the handler leaves running lose no delivery that was acknowledged`, async () => {
        for (const left of [1, 2, 3, 4]) {
          const key = `${name} left ${String(left)}`;
          const result = await stateOf(store(), key, async (tx) => {
            await place.orm.write(tx, key);
            const fail = async () => {
              for (let at = 1; at < left; at += 1) await place.orm.run(tx, "SELECT 1");
              await place.orm.run(tx, "SELECT nothing FROM nowhere");
            };
            void fail().catch(() => undefined);
          });
          const isHandled = result === "processed";
          expect(await db.effects.of(key), key).toBe(isHandled ? 1 : 0);
          expect(await db.effects.remembered(key), key).toBe(isHandled ? 1 : 0);
        }
      });

      it(`${name}: a deadlock that the handler drops is not handled`, async () => {
        const key = `${name} deadlock`;
        const release = await heldRows(engine, db.pool);
        const result = await stateOf(store(), key, async (tx) => {
          await place.orm.write(tx, key);
          await place.orm.run(tx, "UPDATE locked SET note = 1 WHERE id = 0");
          const stranger = release.takes(0);
          // The other side waits for the row first.
          await engine.sleep(db.pool, 0.1);
          await expect(
            (async () => place.orm.run(tx, "UPDATE locked SET note = 1 WHERE id = 1"))(),
          ).rejects.toThrow();
          await stranger;
        });
        await release.end();
        expect(result).toMatch(/transaction_aborted|Error/);
        expect(await db.effects.of(key)).toBe(0);
        expect(await again(key)).toBe("processed");
        expect(await db.effects.of(key)).toBe(1);
      });

      // A connection that breaks leaves a rejection in Prisma's adapter for MariaDB, which ends the process.
      const survives = name !== "prisma" || dialect !== "mysql";
      it.each(survives ? BREAKS : [])(
        `${name}: a commit %s is not taken for done`,
        async (_, fault, next) => {
          const key = `${name} ${fault}`;
          const proxy = await startCommitProxy(db.server.port, /\bCOMMIT\b/i);
          const proxied = await openOrm(name, dialect, {
            ...addressOf(dialect, proxy.port),
            prepare: false,
          });
          const onProxy = storeOf(proxied, dialect);
          // The first delivery has two transactions more.
          expect(await stateOf(onProxy, `${key} before`, () => Promise.resolve())).toBe(
            "processed",
          );
          proxy.fault = fault;
          const result = await stateOf(onProxy, key, async (tx) => {
            await proxied.write(tx, key);
          });
          proxy.fault = undefined;
          expect(result).not.toBe("processed");
          expect(result).not.toBe("completed");
          expect(proxy.hits).toBe(1);
          expect(await again(key)).toBe(next);
          expect(await db.effects.of(key)).toBe(1);
          await proxied.close().catch(() => undefined);
          await proxy.close();
        },
      );

      if (KILLED.includes(name)) {
        it(`${name}: after kill -9 between the write and the commit, the delivery is handled anew`, async () => {
          const key = `${name} killed`;
          const program = "test/stores/sql/orms/held-child.ts";
          const argv = ["--import", "tsx", program, name, dialect, String(db.server.port), key];
          const child = spawn(process.execPath, argv, {
            cwd: REPOSITORY,
            stdio: ["ignore", "pipe", "inherit"],
          });
          const ended = once(child, "exit");
          const written = once(child.stdout, "data");
          await Promise.race([written, ended]);
          expect(await stateOf(store(), key, mustNotRun)).toBe("in_flight");
          child.kill("SIGKILL");
          await ended;
          expect(await again(key)).toBe("processed");
          expect(await again(key)).toBe("completed");
          expect(await db.effects.of(key)).toBe(1);
        });
      }

      const store = () => storeOf(place.orm, dialect);

      /** The state of a delivery, or the code or the name of the error that it rejects with. */
      async function stateOf(
        on: TransactionalStore<unknown>,
        key: string,
        work: (tx: unknown) => Promise<void>,
      ) {
        try {
          return (await on.process(key, work, TIMES)).state;
        } catch (error) {
          const { code, name: title } = error as { code?: unknown; name: string };
          return typeof code === "string" ? code : title;
        }
      }

      /** The state of the next attempt, after the server has noticed the end of the one before. */
      async function again(key: string): Promise<string> {
        for (;;) {
          const state = await stateOf(store(), key, async (tx) => {
            await place.orm.write(tx, key);
          });
          if (state !== "in_flight") return state;
          await engine.sleep(db.pool, 0.02);
        }
      }
    });
  });
}

/** Two rows of a table, of which another transaction holds the second. Its deadlock is not the one that is ended. */
async function heldRows(engine: SqlEngine, pool: Sql) {
  await pool.query("CREATE TABLE IF NOT EXISTS locked (id int PRIMARY KEY, note int)");
  await pool.query("DELETE FROM locked");
  const ids = Array.from({ length: 100 }, (_, id) => `(${String(id)}, 0)`);
  await pool.query(`INSERT INTO locked VALUES ${ids.join()}`);
  const stranger = await engine.connect(pool);
  // PostgreSQL ends the one that looks first, MySQL the one that has written less.
  if (engine.name === "PostgreSQL") await stranger.query("SET deadlock_timeout = '60s'");
  await stranger.query("BEGIN");
  await stranger.query("UPDATE locked SET note = 2 WHERE id > 0");
  return {
    takes: (id: number) => stranger.query(`UPDATE locked SET note = 2 WHERE id = ${String(id)}`),
    async end() {
      await stranger.query("ROLLBACK");
      if (engine.name === "PostgreSQL") await stranger.query("RESET deadlock_timeout");
      stranger.release();
    },
  };
}

describe("sqlTransactions on SQLite", () => {
  const folder = temporaryFolder(afterAll);

  describe.each(ormsOf("sqlite"))("with %s", (name) => {
    let place: Place;
    beforeAll(async () => {
      place = await openPlace(name, "sqlite", { filename: folder.at(`${name}.db`) });
    });
    afterAll(async () => {
      await Promise.all([place.orm.close(), place.other.close()]);
    });

    it.each(contractOf(name, () => place, "sqlite"))(`${name}: $title`, async ({ run }) => {
      await run();
    });
  });
});
