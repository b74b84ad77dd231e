import { promisify } from "node:util";
import { type SQL, sql } from "drizzle-orm";
import { drizzle as drizzleMysql } from "drizzle-orm/mysql2";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
import fc from "fast-check";
import type { PoolConnection, ResultSetHeader } from "mysql2/promise";
import type pg from "pg";
import { beforeAll, describe, expect, it } from "vitest";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import {
  databaseOf,
  processWriting,
  type Sql,
  type SqlEngine,
} from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";
import { PROCESSED, TIMES } from "../../support/stores/store-cases.js";
import { send } from "../../support/alarm-receiver.js";

/** What a query builder does with SQL. */
interface Executes {
  execute(query: SQL): PromiseLike<unknown>;
}

/** What a handler kept of its transaction, and calls when it must not. */
interface KeptTransaction {
  readonly tx: Sql;
  /** What must reject. */
  readonly rejected: readonly (() => Promise<unknown>)[];
  /** What must throw. */
  readonly thrown: readonly (() => unknown)[];
  /** What must do neither. */
  readonly allowed: () => unknown;
}

/** How a handler can misuse its transaction, on one engine. */
interface Misuse<Tx> {
  /** Texts that would end the transaction or outlive it. */
  readonly refused: readonly string[];
  /** Texts that do neither, sent one after the other. */
  readonly allowed: readonly (readonly string[])[];
  /** What a server skips ahead of a COMMIT, `count` times. */
  skipped(count: number): readonly string[];
  /** Of these and a statement, texts are made that the server may or may not read as a COMMIT. */
  readonly marks: readonly string[];
  readonly harmless: string;
  readonly texts: number;
  /** Texts that end the transaction where tx cannot see it. */
  readonly endings: readonly string[];
  /** All ways to send a text. Each must reject. */
  waysToSend(tx: Tx, text: string): readonly (() => Promise<unknown>)[];
  /** Whether the server reads a COMMIT in `text`. Undefined: it refuses the text. */
  isCommit(on: Tx, text: string): Promise<boolean | undefined>;
  queryBuilder(tx: Tx): Executes & {
    transaction(work: (on: Executes) => Promise<void>): Promise<void>;
  };
  keep(tx: Tx): Promise<KeptTransaction>;
}

/** The connection of mysql2 with callbacks that is inside one with promises. */
interface CallbackConnection {
  query(text: string, callback?: (error: Error | null) => void): unknown;
  promise(): PoolConnection;
}

const mysqlMisuse: Misuse<PoolConnection> = {
  refused: [
    "BEGIN",
    "COMMIT",
    "COMMIT AND CHAIN",
    "ROLLBACK",
    "XA START 'x'",
    "LOCK TABLES others READ",
    "SET autocommit = 1",
    "SET @a = 1",
    "USE mysql",
    "CREATE TABLE made (id int)",
    "ALTER TABLE others ADD b int",
    "DROP TABLE others",
    "TRUNCATE others",
    "RENAME TABLE others TO b",
    "GRANT SELECT ON *.* TO root",
    "ANALYZE TABLE others",
    "UNLOCK TABLES",
    "FLUSH TABLES",
    "CREATE INDEX i ON others (id)",
    "/* tenant */ SET NAMES latin1",
    "/*!COMMIT*/",
    "START/* */TRANSACTION",
    "COMMIT-- x",
    "ROLLBACK; TO a",
    "BEGIN NOT ATOMIC SELECT 1; END",
  ],
  allowed: [
    ["SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "RELEASE SAVEPOINT a"],
    ["SELECT 'COMMIT'", "/* SET */ SELECT 1", "-- COMMIT\nSELECT 1", "# COMMIT\nSELECT 1"],
    ["CREATE TEMPORARY TABLE scratch (id int)", "DROP TEMPORARY TABLE scratch"],
    ["SAVEPOINT a", "/* a */ ROLLBACK /* b */ TO/**/a", "rollback -- a\n work to a"],
    ["REPLACE INTO others VALUES (1)", "DELETE FROM others", "DO 1", "SELECT 1 -- COMMIT"],
  ],
  skipped: (count) =>
    ["/**/", "/***/;", "#\n", "-- \n", " ", "/*!", "*/"].map((part) => part.repeat(count)),
  marks: "/*|*/|-- |--|\n|#| |\t|;|/|*|-|!|/*!|/*M!|/*!50000 |/* a */|-- a\n|#a\n".split("|"),
  harmless: "DO 1",
  texts: 1_000,
  endings: [
    "SELECT 1; COMMIT",
    "SELECT 1; ROLLBACK",
    "SELECT 1; BEGIN",
    "SELECT 1; COMMIT AND CHAIN",
    "SELECT 1; COMMIT; BEGIN",
    "CALL commits()",
    "SELECT 1; SET autocommit = 1",
    "SELECT 1; CREATE TABLE IF NOT EXISTS made (id int)",
    "SELECT 1; TRUNCATE others",
  ],
  waysToSend(tx, text) {
    const callbacks = tx.connection as unknown as CallbackConnection;
    return [
      () => tx.query(text),
      () => tx.query({ sql: text }),
      () => tx.execute(text),
      () => tx.prepare(text),
      () => promisify((done: (error: Error | null) => void) => callbacks.query(text, done))(),
      // Without a callback it throws.
      () => Promise.resolve().then(() => callbacks.query(text)),
      () => callbacks.promise().query(text),
    ];
  },
  async isCommit(on, text) {
    await on.query("START TRANSACTION");
    return on.query<ResultSetHeader>(text).then(
      ([{ serverStatus }]) => (serverStatus & 1) === 0,
      () => undefined,
    );
  },
  queryBuilder: (tx) => drizzleMysql(tx),
  async keep(tx) {
    const prepared = await tx.prepare("INSERT INTO effects VALUES (?)");
    return {
      tx,
      rejected: [() => tx.execute("SELECT 1"), () => prepared.execute(["late"]), () => tx.ping()],
      thrown: [() => tx.escape("x"), () => tx.format("?", [1]), () => tx.release()],
      allowed: () => tx.off("drain", () => undefined),
    };
  },
};

const postgresMisuse: Misuse<pg.PoolClient> = {
  refused: [
    "BEGIN",
    "COMMIT",
    "END",
    "ABORT",
    "ROLLBACK",
    "ROLLBACK AND CHAIN",
    "PREPARE TRANSACTION 'x'",
    "SET search_path TO other",
    "set session role receiver",
    "DISCARD ALL",
    "RESET search_path",
    "/* tenant */ SET search_path TO other",
    "-- of b\nset role b",
    '/**/SET/**/"role" TO b',
    "-- report.sql\nBEGIN; SELECT 1; COMMIT;",
    "/* a /* b */ c */ ROLLBACK",
    "start/* */transaction",
    "COMMIT--",
    "ROLLBACK; TO a",
    "PREPARE -- x\n TRANSACTION 'x'",
    "SET local.role TO b",
  ],
  allowed: [
    ["SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "RELEASE a"],
    ["SET LOCAL search_path TO other", "SET CONSTRAINTS ALL DEFERRED"],
    ["SET TRANSACTION READ WRITE", "SELECT 'COMMIT'", "/* SET */ SELECT 1"],
    ["/* COMMIT; */ SET/**/LOCAL -- role\n search_path TO other", "-- COMMIT\nSELECT 1"],
    ["SAVEPOINT a", "/* a */ ROLLBACK /* b */ TO/**/a", "rollback -- a\n transaction TO a"],
    ["", " ; -- nothing", "/* /* */ COMMIT; */ SELECT 1"],
  ],
  skipped: (count) => [
    "/*".repeat(count) + "*/".repeat(count),
    ...["/**/", "/***/;", "--\n", "--", " "].map((part) => part.repeat(count)),
  ],
  marks: "/*|*/|--|\n|\r|\f| |;|/|*|-|/* a */|/*/**/*/|--a\n".split("|"),
  harmless: "SELECT 1",
  texts: 500,
  endings: [
    "SELECT 1; COMMIT",
    "SELECT 1; ROLLBACK",
    "SELECT 1; BEGIN; COMMIT",
    "SELECT 1; COMMIT; BEGIN",
    "SELECT 1; ROLLBACK; BEGIN",
    "SELECT 1; COMMIT AND CHAIN",
  ],
  waysToSend: (tx, text) => [
    () => tx.query(text),
    () => tx.query({ text }),
    () => promisify((done: (error: Error) => void) => tx.query(text, done))(),
  ],
  isCommit: (on, text) =>
    on.query(text).then(
      ({ command }) =>
        command === "COMMIT" || command === "SELECT" ? command === "COMMIT" : undefined,
      () => undefined,
    ),
  queryBuilder: (tx) => drizzlePostgres(tx),
  keep: (tx) =>
    Promise.resolve({
      tx,
      rejected: [() => tx.query("SELECT FROM nowhere")],
      thrown: [() => tx.release()],
      allowed: () => tx.off("notice", () => undefined),
    }),
};

/** How a handler can misuse its transaction on `engine`. */
function misuseOf({ name }: SqlEngine): Misuse<Sql> {
  return name === "MySQL" ? mysqlMisuse : postgresMisuse;
}

const REFUSAL = { name: "GatewayWebhookError", code: "transaction_misuse" };
const SETTLED = "after the handler had settled";

describeSql("a handler that misuses its transaction", (engine) => {
  const isMysql = engine.name === "MySQL";
  const multi = { driver: { multipleStatements: true } };
  const db = databaseOf(engine, multi);
  const misuse = misuseOf(engine);

  beforeAll(async () => {
    if (!isMysql) return;
    await db.pool.query("CREATE TABLE others (id int PRIMARY KEY)");
    await db.pool.query("CREATE PROCEDURE commits() COMMIT");
  });

  const processWith = (key: string, beside: (tx: Sql) => unknown, of = db.pool) =>
    processWriting(engine.makeTransactions(of), db.effects, key, beside);

  describe("statements that would end the transaction or outlive it", () => {
    it.each(misuse.refused)("tx refuses %j, and the transaction goes on", async (text) => {
      const key = `refused ${text}`;
      const beside = async (tx: Sql) => {
        for (const send of misuse.waysToSend(tx, text)) {
          await expect(send()).rejects.toMatchObject(REFUSAL);
        }
      };
      expect(await processWith(key, beside)).toEqual(PROCESSED);
      expect(await db.effects.of(key)).toBe(1);
    });

    it.each(misuse.allowed.map((texts) => ({ texts })))("tx allows $texts", async ({ texts }) => {
      const key = texts.join();
      const beside = async (tx: Sql) => {
        for (const text of texts) await tx.query(text);
      };
      expect(await processWith(key, beside)).toEqual(PROCESSED);
      expect(await db.effects.of(key)).toBe(1);
    });

    it("tx refuses a COMMIT behind a million comments without delay", async () => {
      const beside = async (tx: Sql) => {
        for (const before of misuse.skipped(1_000_000)) {
          await expect(tx.query(`${before}\nCOMMIT`)).rejects.toMatchObject(REFUSAL);
        }
      };
      expect(await processWith("far behind", beside)).toEqual(PROCESSED);
    });

    it("tx refuses exactly the texts that the server reads as a COMMIT", async () => {
      const { marks, harmless, texts: numRuns } = misuse;
      const texts = fc
        .tuple(
          fc.array(fc.constantFrom(...marks), { maxLength: isMysql ? 6 : 8 }),
          fc.constantFrom("COMMIT", harmless),
        )
        .map(([before, statement]) => `${before.join("")}\n${statement}`);
      const pool = db.server.pool();
      const plain = await engine.connect(pool);
      const seen = { commits: 0, others: 0 };
      const beside = async (tx: Sql) => {
        const check = async (text: string) => {
          const isCommit = await misuse.isCommit(plain, text);
          if (isCommit === undefined) return;
          seen[isCommit ? "commits" : "others"] += 1;
          const outcome = await tx.query(text).then(
            () => "sent",
            (error: unknown) => (error as { code?: unknown }).code,
          );
          expect(outcome).toBe(isCommit ? REFUSAL.code : "sent");
        };
        await fc.assert(fc.asyncProperty(texts, check), { numRuns });
      };
      expect(await processWith("any COMMIT", beside, pool)).toEqual(PROCESSED);
      plain.release();
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
    });

    it("a handler that calls transaction() of a query builder fails", async () => {
      let runs = 0;
      const receiver = transactionalReceiver(
        engine.makeTransactions(db.pool),
        async ({ id, tx }) => {
          const builder = misuse.queryBuilder(tx);
          const write = async (on: Pick<typeof builder, "execute">) => {
            await on.execute(sql`INSERT INTO effects VALUES (${id})`);
          };
          runs += 1;
          if (runs > 1) return write(builder);
          await builder.transaction(write);
          throw new Error("what comes after it failed");
        },
      );
      const request = await delivery({ id: "built" });
      expect(await send(receiver, request)).toBe("500 handler_failed");
      expect(await db.effects.of("built")).toBe(0);
      expect(await send(receiver, request)).toBe("200 handled");
      expect(await db.effects.of("built")).toBe(1);
    });
  });

  describe("a handler that ends the transaction where tx cannot see it", () => {
    const again = isMysql
      ? ", what it writes afterwards is undone, and its delivery runs again as a takeover"
      : ", and its delivery runs again";

    it.each(misuse.endings)(
      `a handler that ends its transaction by %j and succeeds is refused${again}`,
      async (text) => {
        const { effects } = db;
        const key = `succeeds after ${text}`;
        const ended = processWith(key, async (tx) => {
          await tx.query(text);
          if (isMysql) await effects.write(tx, `${key}, later`);
        });
        await expect(ended).rejects.toThrow("the handler ended the transaction of its delivery");
        expect(await effects.remembered(key)).toBe(0);
        if (!text.endsWith("autocommit = 1")) expect(await effects.of(`${key}, later`)).toBe(0);
        // On MySQL its writes were committed, unless it has rolled them back.
        const isTakeover = isMysql && (await effects.of(key)) > 0;
        let takeover: unknown;
        const work = async (tx: Sql, facts?: { readonly takeover: boolean }) => {
          takeover = facts?.takeover;
          await effects.write(tx, key);
        };
        const { state } = await engine.makeTransactions(db.pool).process(key, work, TIMES);
        expect({ state, takeover }).toEqual({ ...PROCESSED, takeover: isTakeover });
      },
    );

    it.each(misuse.endings)(
      "a handler that ends its transaction by %j and fails gets its delivery again",
      async (text) => {
        const key = `fails after ${text}`;
        const ended = processWith(key, async (tx) => {
          await tx.query(text);
          throw new Error("the next step failed");
        });
        await expect(ended).rejects.toThrow("the next step failed");
        expect(await db.effects.remembered(key)).toBe(0);
        expect(await processWith(key, () => undefined)).toEqual(PROCESSED);
      },
    );

    it("a handler that commits and loses its connection gets its delivery again", async () => {
      const takeovers: unknown[] = [];
      const store = engine.makeTransactions(db.server.pool({ max: 1, ...multi }));
      const receiver = transactionalReceiver(store, async ({ id, tx, takeover }) => {
        takeovers.push(takeover);
        await db.effects.write(tx, id);
        if (takeovers.length > 1) return;
        await tx.query("SELECT 1; COMMIT");
        await engine.kill(db.pool, tx);
        throw new Error("the next step failed");
      });
      const request = await delivery({ id: "ended-and-broken" });
      expect(await receiver.receive(request)).not.toMatchObject({ status: 200 });
      expect(await db.effects.of("ended-and-broken")).toBe(1);
      expect(await db.effects.remembered("ended-and-broken")).toBe(0);
      expect(await send(receiver, request)).toBe("200 handled");
      expect(takeovers).toEqual([false, isMysql]);
    });

    it("a handler that ends its transaction undoes no completion of another process", async () => {
      const ended = processWith("elsewhere", async (tx) => {
        await tx.query("SELECT 1; ROLLBACK");
        expect(await processWith("elsewhere", () => undefined)).toEqual(PROCESSED);
        throw new Error("late");
      });
      await expect(ended).rejects.toThrow("late");
      expect(await db.effects.of("elsewhere")).toBe(1);
      expect(await db.effects.remembered("elsewhere")).toBe(1);
    });
  });

  it("tx refuses calls after the handler has settled", async () => {
    const single = db.server.pool({ max: 1 });
    const kept = deferred<Awaited<ReturnType<typeof misuse.keep>>>();
    const keeping = async (tx: Sql): Promise<never> => {
      kept.resolve(await misuse.keep(tx));
      throw new Error("the look-up took too long");
    };
    await expect(processWith("late", keeping, single)).rejects.toThrow("took too long");
    const { tx: late, rejected, thrown, allowed } = await kept.promise;
    const callsLate = async () => {
      for (const call of [() => db.effects.write(late, "late"), ...rejected]) {
        await expect(call()).rejects.toThrow(SETTLED);
      }
      for (const call of thrown) expect(call).toThrow(SETTLED);
      allowed();
    };
    expect(await processWith("next", callsLate, single)).toEqual(PROCESSED);
    expect(await db.effects.of("late")).toBe(0);
    expect(await db.effects.of("next")).toBe(1);
  });
});
