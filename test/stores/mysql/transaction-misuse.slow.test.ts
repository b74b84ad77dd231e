import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/mysql2";
import fc from "fast-check";
import type { Pool, PoolConnection, ResultSetHeader } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";
import { createEffects, type Effects } from "../../support/stores/sql-engine.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };
const REFUSAL = { name: "GatewayWebhookError", code: "transaction_misuse" };

describeMysql("a handler that misuses its MySQL transaction", () => {
  let server: MysqlServer;
  let pool: Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool({ multipleStatements: true });
    await mysqlTransactions({ pool }).migrate();
    effects = await createEffects(mysqlEngine, pool);
    await pool.query("CREATE TABLE others (id int PRIMARY KEY)");
    await pool.query("CREATE PROCEDURE commits() COMMIT");
  });
  afterAll(async () => {
    await server.close();
  });

  /** Processes `key`: writes one effect and then does what the test wants. */
  const processWith = (key: string, beside: (tx: PoolConnection) => unknown, of: Pool = pool) =>
    mysqlTransactions({ pool: of }).process(
      key,
      async (tx) => {
        await effects.write(tx, key);
        await beside(tx);
      },
      RETENTION,
    );

  describe("statements that would end the transaction or outlive it", () => {
    it.each([
      ...["BEGIN", " begin;", "START  TRANSACTION", "COMMIT", "commit work", "COMMIT AND CHAIN"],
      ...["ROLLBACK", "rollback;", "ROLLBACK WORK", "XA START 'x'", "LOCK TABLES others READ"],
      ...["SET autocommit = 1", "set session sql_mode = ''", "SET @a = 1", "USE mysql"],
      ...["CREATE TABLE made (id int)", "ALTER TABLE others ADD b int", "DROP TABLE others"],
      ...["TRUNCATE others", "RENAME TABLE others TO b", "GRANT SELECT ON *.* TO root"],
      ...["ANALYZE TABLE others", "UNLOCK TABLES", "FLUSH TABLES", "CREATE INDEX i ON others (id)"],
      ...["/* tenant */ SET NAMES latin1", "-- of b\nset names latin1", "# x\nCOMMIT"],
      ...["/*! COMMIT */", "/*!50000 COMMIT*/", "/*M! COMMIT */", "/*!COMMIT*/", "/**/COMMIT/**/"],
      ...[
        "START/* */TRANSACTION",
        "COMMIT-- x",
        "ROLLBACK; TO a",
        "BEGIN NOT ATOMIC SELECT 1; END",
      ],
    ])("tx refuses %j, and the transaction goes on", async (text) => {
      const key = `refused ${text}`;
      const beside = async (tx: PoolConnection): Promise<void> => {
        await expect(tx.query(text)).rejects.toMatchObject(REFUSAL);
        await expect(tx.query({ sql: text })).rejects.toMatchObject(REFUSAL);
        await expect(tx.execute(text)).rejects.toMatchObject(REFUSAL);
        await expect(tx.prepare(text)).rejects.toMatchObject(REFUSAL);
        const calledBack = deferred<unknown>();
        const callbacks = tx.connection as unknown as {
          query(text: string, callback?: (error: unknown) => void): void;
          promise(): PoolConnection;
        };
        callbacks.query(text, calledBack.resolve);
        expect(await calledBack.promise).toMatchObject(REFUSAL);
        expect(() => {
          callbacks.query(text);
        }).toThrow(expect.objectContaining(REFUSAL) as Error);
        await expect(callbacks.promise().query(text)).rejects.toMatchObject(REFUSAL);
      };
      expect(await processWith(key, beside)).toEqual(PROCESSED);
      expect(await effects.of(key)).toBe(1);
    });

    it.each([
      ["SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "RELEASE SAVEPOINT a"],
      ["SELECT 'COMMIT'", "/* SET */ SELECT 1", "-- COMMIT\nSELECT 1", "# COMMIT\nSELECT 1"],
      ["CREATE TEMPORARY TABLE scratch (id int)", "DROP TEMPORARY TABLE scratch"],
      ["SAVEPOINT a", "/* a */ ROLLBACK /* b */ TO/**/a", "rollback -- a\n work to a"],
      ["REPLACE INTO others VALUES (1)", "DELETE FROM others", "DO 1", "SELECT 1 -- COMMIT"],
    ])("tx allows %j", async (...texts) => {
      const key = texts.join();
      const beside = async (tx: PoolConnection): Promise<void> => {
        for (const text of texts) await tx.query(text);
      };
      expect(await processWith(key, beside)).toEqual(PROCESSED);
      expect(await effects.of(key)).toBe(1);
    });

    it("tx refuses a COMMIT behind a million comments without delay", async () => {
      const beside = async (tx: PoolConnection): Promise<void> => {
        for (const part of ["/**/", "/***/;", "#\n", "-- \n", " ", "/*!", "*/"]) {
          const text = `${part.repeat(1_000_000)}\nCOMMIT`;
          await expect(tx.query(text)).rejects.toMatchObject(REFUSAL);
        }
      };
      expect(await processWith("far behind", beside)).toEqual(PROCESSED);
    });

    it("tx refuses every text that the server reads as a COMMIT at its head", async () => {
      const marks = ["/*", "*/", "-- ", "--", "\n", "#", " ", "\t", ";", "/", "*", "-", "!"];
      const mark = fc.constantFrom(
        ...marks,
        "/*!",
        "/*M!",
        "/*!50000 ",
        "/* a */",
        "-- a\n",
        "#a\n",
      );
      const texts = fc
        .tuple(fc.array(mark, { maxLength: 6 }), fc.constantFrom("COMMIT", "DO 1"))
        .map(([before, statement]) => `${before.join("")}\n${statement}`);
      const plain = await server.pool().getConnection();
      const seen = { COMMIT: 0, DO: 0 };
      /** What the server does with `text`; undefined if it refuses it. */
      const read = async (text: string): Promise<"COMMIT" | "DO" | undefined> => {
        await plain.query("START TRANSACTION");
        try {
          const [{ serverStatus }] = await plain.query<ResultSetHeader>(text);
          return (serverStatus & 1) === 0 ? "COMMIT" : "DO";
        } catch {
          return undefined;
        }
      };
      const beside = async (tx: PoolConnection): Promise<void> => {
        const check = async (text: string): Promise<void> => {
          const command = await read(text);
          if (command === undefined) return;
          seen[command] += 1;
          const isRefused = await tx.query(text).then(
            () => false,
            (error: unknown) => (error as { code?: unknown }).code === "transaction_misuse",
          );
          expect(isRefused).toBe(command === "COMMIT");
        };
        await fc.assert(fc.asyncProperty(texts, check), { numRuns: 1_000 });
      };
      expect(await processWith("any COMMIT", beside, server.pool())).toEqual(PROCESSED);
      plain.release();
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
    });

    it("a handler that calls transaction() of a query builder fails, and its redelivery is handled", async () => {
      let runs = 0;
      const receiver = transactionalReceiver(mysqlTransactions({ pool }), async ({ id, tx }) => {
        const db = drizzle(tx);
        const write = async (on: Pick<typeof db, "execute">) => {
          await on.execute(sql`INSERT INTO effects VALUES (${id})`);
        };
        runs += 1;
        if (runs > 1) return write(db);
        await db.transaction(write);
        throw new Error("what comes after it failed");
      });
      const request = await delivery({ id: "built" });
      expect(await receiver.receive(request)).toMatchObject({ outcome: "handler_failed" });
      expect(await effects.of("built")).toBe(0);
      expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
      expect(await effects.of("built")).toBe(1);
    });
  });

  describe("a handler that ends the transaction where tx cannot see it", () => {
    const endings = [
      ...[
        "SELECT 1; COMMIT",
        "SELECT 1; ROLLBACK",
        "SELECT 1; BEGIN",
        "SELECT 1; COMMIT AND CHAIN",
      ],
      ...["SELECT 1; COMMIT; BEGIN", "CALL commits()", "SELECT 1; SET autocommit = 1"],
      ...["SELECT 1; CREATE TABLE IF NOT EXISTS made (id int)", "SELECT 1; TRUNCATE others"],
    ];

    it.each(endings)(
      "a handler that ends its transaction by %j and succeeds is refused, what it writes afterwards is undone, and its delivery runs again as a takeover",
      async (text) => {
        const key = `succeeds after ${text}`;
        const ended = processWith(key, async (tx) => {
          await tx.query(text);
          await effects.write(tx, `${key}, later`);
        });
        await expect(ended).rejects.toThrow("the handler ended the transaction of its delivery");
        expect(await effects.remembered(key)).toBe(0);
        if (!text.endsWith("autocommit = 1")) expect(await effects.of(`${key}, later`)).toBe(0);
        let takeover: unknown;
        const again = mysqlTransactions({ pool }).process(
          key,
          (_tx, facts) => {
            takeover = facts?.takeover;
            return Promise.resolve();
          },
          RETENTION,
        );
        expect(await again).toEqual(PROCESSED);
        // Its writes were committed, unless it has rolled them back.
        expect(takeover).toBe((await effects.of(key)) > 0);
      },
    );

    it.each(endings)(
      "a handler that ends its transaction by %j and fails gets its delivery again",
      async (text) => {
        const key = `fails after ${text}`;
        const ended = processWith(key, async (tx) => {
          await tx.query(text);
          throw new Error("the next step failed");
        });
        await expect(ended).rejects.toThrow("the next step failed");
        expect(await effects.remembered(key)).toBe(0);
        expect(await processWith(key, () => undefined)).toEqual(PROCESSED);
      },
    );

    it("a handler that commits and loses its connection gets its delivery again", async () => {
      let runs = 0;
      const takeovers: unknown[] = [];
      const single = server.pool({ connectionLimit: 1, multipleStatements: true });
      const store = mysqlTransactions({ pool: single });
      const receiver = transactionalReceiver(store, async ({ id, tx, takeover }) => {
        runs += 1;
        takeovers.push(takeover);
        await effects.write(tx, id);
        if (runs > 1) return;
        await tx.query("SELECT 1; COMMIT");
        await pool.query(`KILL ${String(tx.threadId)}`);
        throw new Error("the next step failed");
      });
      const request = await delivery({ id: "ended-and-broken" });
      expect(await receiver.receive(request)).not.toMatchObject({ status: 200 });
      expect(await effects.of("ended-and-broken")).toBe(1);
      expect(await effects.remembered("ended-and-broken")).toBe(0);
      expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
      expect(takeovers).toEqual([false, true]);
    });

    it("a handler that ends its transaction does not undo the completion of another process", async () => {
      const ended = processWith("elsewhere", async (tx) => {
        await tx.query("SELECT 1; ROLLBACK");
        expect(await processWith("elsewhere", () => undefined)).toEqual(PROCESSED);
        throw new Error("late");
      });
      await expect(ended).rejects.toThrow("late");
      expect(await effects.of("elsewhere")).toBe(1);
      expect(await effects.remembered("elsewhere")).toBe(1);
    });

    it("a handler that deletes the row of its delivery is refused", async () => {
      const deleting = processWith("deleted", (tx) => tx.query("DELETE FROM gateway_deliveries"));
      await expect(deleting).rejects.toMatchObject(REFUSAL);
      expect(await effects.of("deleted")).toBe(0);
    });
  });

  describe("a statement whose promise the handler does not use", () => {
    const duplicate = (tx: PoolConnection) => tx.execute("INSERT INTO unique_ones VALUES (1)");

    beforeAll(async () => {
      await pool.query("CREATE TABLE unique_ones (id int PRIMARY KEY)");
      await pool.query("INSERT INTO unique_ones VALUES (1)");
    });

    it.each<[string, (tx: PoolConnection) => unknown]>([
      ["is still running at the end of the handler", (tx) => void duplicate(tx)],
      [
        "fails while the handler awaits another one",
        async (tx) => {
          void duplicate(tx);
          await tx.query("DO 1");
        },
      ],
      [
        "is a prepared one",
        async (tx) => {
          const prepared = await tx.prepare("INSERT INTO unique_ones VALUES (?)");
          void prepared.execute([1]);
        },
      ],
    ])("its failure rolls the delivery back if it %s", async (what, beside) => {
      const failed = processWith(what, beside);
      await expect(failed).rejects.toMatchObject({
        code: "transaction_aborted",
        cause: { code: "ER_DUP_ENTRY" },
      });
      expect(await effects.of(what)).toBe(0);
      expect(await effects.remembered(what)).toBe(0);
    });

    it("its failure is answered 503", async () => {
      const request = await delivery({ id: "not-awaited" });
      const receiver = transactionalReceiver(mysqlTransactions({ pool }), ({ tx }) => {
        void duplicate(tx);
      });
      const answer = await receiver.receive(request);
      expect(answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
      expect(await effects.remembered("not-awaited")).toBe(0);
    });

    it("its connection goes back to the pool", async () => {
      const single = server.pool({ connectionLimit: 1 });
      const failed = processWith("one connection", (tx) => void duplicate(tx), single);
      await expect(failed).rejects.toMatchObject({ code: "transaction_aborted" });
      expect(await processWith("one connection", () => undefined, single)).toEqual(PROCESSED);
    });

    it("its success is committed", async () => {
      const beside = (tx: PoolConnection): void => void effects.write(tx, "not awaited");
      expect(await processWith("not awaited", beside)).toEqual(PROCESSED);
      expect(await effects.of("not awaited")).toBe(2);
    });

    it.each<[string, (tx: PoolConnection) => unknown]>([
      ["await", (tx) => expect(duplicate(tx)).rejects.toMatchObject({ errno: 1062 })],
      ["catch, without await", (tx) => void duplicate(tx).catch(() => undefined)],
      [
        "then and catch, without await",
        (tx) =>
          void duplicate(tx)
            .then(() => undefined)
            .catch(() => undefined),
      ],
      ["allSettled", (tx) => Promise.allSettled([duplicate(tx), duplicate(tx)])],
      [
        "await, after another statement",
        async (tx) => {
          const early = duplicate(tx);
          await tx.query("DO 1");
          await expect(early).rejects.toMatchObject({ errno: 1062 });
        },
      ],
    ])("an error that the handler handles by %s is no failure", async (how, beside) => {
      expect(await processWith(how, beside)).toEqual(PROCESSED);
      expect(await effects.of(how)).toBe(1);
    });

    it("a promise made of it that no one handles is left to Node", async () => {
      const unhandled = deferred<unknown>();
      const others = process.listeners("unhandledRejection");
      process.removeAllListeners("unhandledRejection");
      process.once("unhandledRejection", unhandled.resolve);
      try {
        await processWith("chained", (tx) => void duplicate(tx).then(() => undefined));
        expect(await unhandled.promise).toMatchObject({ code: "ER_DUP_ENTRY" });
      } finally {
        process.removeAllListeners("unhandledRejection");
        for (const listener of others) process.on("unhandledRejection", listener);
      }
    });
  });

  describe("the connection that a handler gets", () => {
    it("tx is an instance of the connection of mysql2", async () => {
      const native = await pool.getConnection();
      native.release();
      await processWith("asked", async (tx) => {
        expect(tx).toBeInstanceOf(native.constructor);
        expect(tx.constructor).toBe(native.constructor);
        const ignore = (): void => undefined;
        expect(tx.once("drain", ignore)).toBe(tx);
        expect(tx.off("drain", ignore)).toBe(tx);
        expect(tx.escape("it's")).toBe("'it\\'s'");
        await tx.ping();
        const prepared = await tx.prepare("INSERT INTO effects VALUES (?)");
        await prepared.execute(["asked"]);
        await prepared.close();
      });
      expect(await effects.of("asked")).toBe(2);
    });

    it("tx refuses every method that takes the connection away", async () => {
      const beside = async (tx: PoolConnection): Promise<void> => {
        const promises = [
          ...[tx.beginTransaction(), tx.commit(), tx.rollback(), tx.end(), tx.reset()],
          ...[tx.changeUser({}), tx[Symbol.asyncDispose]()],
        ];
        for (const refused of promises) await expect(refused).rejects.toMatchObject(REFUSAL);
        const refusal = expect.objectContaining(REFUSAL) as Error;
        for (const method of ["release", "destroy"] as const) {
          expect(() => {
            tx[method]();
          }).toThrow(refusal);
        }
      };
      expect(await processWith("kept", beside)).toEqual(PROCESSED);
      expect(await effects.of("kept")).toBe(1);
    });

    it("tx refuses calls after the handler has settled, and the next delivery is not affected", async () => {
      const single = server.pool({ connectionLimit: 1 });
      type Prepared = Awaited<ReturnType<PoolConnection["prepare"]>>;
      const kept = deferred<{ tx: PoolConnection; prepared: Prepared }>();
      const first = processWith(
        "late",
        async (tx) => {
          kept.resolve({ tx, prepared: await tx.prepare("INSERT INTO effects VALUES (?)") });
          throw new Error("the look-up took too long");
        },
        single,
      );
      await expect(first).rejects.toThrow("took too long");
      const { tx: late, prepared } = await kept.promise;
      const next = processWith(
        "next",
        async () => {
          const refusal = { message: expect.stringContaining("after the handler had") as string };
          await expect(effects.write(late, "late")).rejects.toMatchObject(refusal);
          await expect(late.execute("SELECT 1")).rejects.toMatchObject(refusal);
          await expect(prepared.execute(["late"])).rejects.toMatchObject(refusal);
          await expect(late.ping()).rejects.toMatchObject(refusal);
          for (const call of [() => late.escape("x"), () => late.format("?", [1])]) {
            expect(call).toThrow("after the handler had settled");
          }
          expect(() => {
            late.release();
          }).toThrow("after the handler had settled");
          late.off("drain", () => undefined);
        },
        single,
      );
      expect(await next).toEqual(PROCESSED);
      expect(await effects.of("late")).toBe(0);
      expect(await effects.of("next")).toBe(1);
    });
  });
});
