import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";
import { createEffects, type Effects } from "../../support/stores/sql-engine.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };

/** The command that the server reads in `text`; undefined if it refuses the text. */
function commandOf(of: Pick<pg.Pool, "query">, text: string): Promise<string | undefined> {
  return of.query(text).then(
    ({ command }) => command,
    () => undefined,
  );
}

describePostgres("a handler that misuses its PostgreSQL transaction", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool();
    await postgresTransactions({ pool }).migrate();
    effects = await createEffects(postgresEngine, pool);
  });
  afterAll(async () => {
    await server.close();
  });

  /** Processes `key`: writes one effect and then does what the test wants. */
  const processWith = (key: string, beside: (tx: pg.PoolClient) => unknown, of: pg.Pool = pool) =>
    postgresTransactions({ pool: of }).process(
      key,
      async (tx) => {
        await effects.write(tx, key);
        await beside(tx);
      },
      RETENTION,
    );

  describe("statements that would end the transaction or outlive it", () => {
    it.each([
      ...["BEGIN", " begin;", "START  TRANSACTION", "COMMIT", "commit work", "END", "ABORT"],
      ...["ROLLBACK", "rollback;", "ROLLBACK AND CHAIN", "PREPARE TRANSACTION 'x'"],
      ...["SET search_path TO other", "set session role receiver", "DISCARD ALL"],
      ...["/* tenant */ SET search_path TO other", "-- of b\nset role b", '/**/SET/**/"role" TO b'],
      ...["-- report.sql\nBEGIN; SELECT 1; COMMIT;", "-- a\r-- b\n/* c */\fCOMMIT", "; ;COMMIT"],
      ...["/* a /* b */ c */ ROLLBACK", "/*/**/*/END", "start/* */transaction", "COMMIT--"],
      ...["ROLLBACK; TO a", "PREPARE -- x\n TRANSACTION 'x'", "SET local.role TO b"],
    ])("tx refuses %j, and the transaction goes on", async (text) => {
      const key = `refused ${text}`;
      const beside = async (tx: pg.PoolClient): Promise<void> => {
        const refusal = { code: "transaction_misuse" };
        await expect(tx.query(text)).rejects.toMatchObject(refusal);
        await expect(tx.query({ text })).rejects.toMatchObject(refusal);
        const calledBack = deferred<Error>();
        tx.query(text, calledBack.resolve);
        expect(await calledBack.promise).toMatchObject(refusal);
      };
      expect(await processWith(key, beside)).toEqual(PROCESSED);
      expect(await effects.of(key)).toBe(1);
    });

    it.each([
      ["SAVEPOINT a", "ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "RELEASE a"],
      ["SET LOCAL search_path TO other", "SET CONSTRAINTS ALL DEFERRED"],
      ["SET TRANSACTION READ WRITE", "SELECT 'COMMIT'", "/* SET */ SELECT 1"],
      ["/* COMMIT; */ SET/**/LOCAL -- role\n search_path TO other", "-- COMMIT\nSELECT 1"],
      ["SAVEPOINT a", "/* a */ ROLLBACK /* b */ TO/**/a", "rollback -- a\n transaction TO a"],
      ["", " ; -- nothing", "/* /* */ COMMIT; */ SELECT 1"],
    ])("tx allows %j", async (...texts) => {
      const key = texts.join();
      const beside = async (tx: pg.PoolClient): Promise<void> => {
        for (const text of texts) await tx.query(text);
      };
      expect(await processWith(key, beside)).toEqual(PROCESSED);
      expect(await effects.of(key)).toBe(1);
    });

    it("tx refuses a COMMIT behind a million comments without delay", async () => {
      const repeat = (part: string): string => part.repeat(1_000_000);
      const beside = async (tx: pg.PoolClient): Promise<void> => {
        const nested = repeat("/*") + repeat("*/");
        for (const before of [nested, ...["/**/", "/***/;", "--\n", "--", " "].map(repeat)]) {
          const refusal = expect(tx.query(`${before}\nCOMMIT`)).rejects;
          await refusal.toMatchObject({ code: "transaction_misuse" });
        }
      };
      expect(await processWith("far behind", beside)).toEqual(PROCESSED);
    });

    it("tx refuses exactly what the server reads as a COMMIT", async () => {
      const marks = ["/*", "*/", "--", "\n", "\r", "\f", " ", ";", "/", "*", "-"];
      const mark = fc.constantFrom(...marks, "/* a */", "/*/**/*/", "--a\n");
      const texts = fc
        .tuple(fc.array(mark, { maxLength: 8 }), fc.constantFrom("COMMIT", "SELECT 1"))
        .map(([before, statement]) => `${before.join("")}\n${statement}`);
      const seen = { COMMIT: 0, SELECT: 0 };
      const beside = async (tx: pg.PoolClient): Promise<void> => {
        const check = async (text: string): Promise<void> => {
          const command = await commandOf(pool, text);
          if (command !== "COMMIT" && command !== "SELECT") return;
          seen[command] += 1;
          const isRefused = (await commandOf(tx, text)) === undefined;
          expect(isRefused).toBe(command === "COMMIT");
        };
        await fc.assert(fc.asyncProperty(texts, check), { numRuns: 500 });
      };
      expect(await processWith("any COMMIT", beside)).toEqual(PROCESSED);
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
    });

    it("a search_path behind a comment does not reach the next delivery", async () => {
      const single = server.pool({ max: 1 });
      const tenant = "/* tenant */ SET search_path TO tenant_b";
      await processWith("of tenant b", (tx) => tx.query(tenant).catch(() => undefined), single);
      const { rows } = await single.query("SHOW search_path");
      expect(rows).toEqual([{ search_path: '"$user", public' }]);
    });

    it("a handler that calls transaction() of a query builder fails, and its redelivery is handled", async () => {
      let runs = 0;
      const receiver = transactionalReceiver(postgresTransactions({ pool }), async ({ id, tx }) => {
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

  describe("a handler that ends the transaction in a later statement of a text", () => {
    const endings = [
      ...["SELECT 1; COMMIT", "SELECT 1; ROLLBACK", "SELECT 1; BEGIN; COMMIT"],
      ...["SELECT 1; COMMIT; BEGIN", "SELECT 1; ROLLBACK; BEGIN", "SELECT 1; COMMIT AND CHAIN"],
    ];

    it.each(endings)(
      "a handler that ends its transaction by %j and succeeds is refused, and its delivery runs again",
      async (text) => {
        const key = `succeeds after ${text}`;
        const ended = processWith(key, (tx) => tx.query(text));
        await expect(ended).rejects.toThrow("the handler ended the transaction of its delivery");
        expect(await effects.remembered(key)).toBe(0);
        expect(await processWith(key, () => undefined)).toEqual(PROCESSED);
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
      const store = postgresTransactions({ pool: server.pool({ max: 1 }) });
      const receiver = transactionalReceiver(store, async ({ id, tx }) => {
        runs += 1;
        await effects.write(tx, id);
        if (runs > 1) return;
        const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
        await tx.query("SELECT 1; COMMIT");
        await pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
        throw new Error("the next step failed");
      });
      const request = await delivery({ id: "ended-and-broken" });
      expect(await receiver.receive(request)).not.toMatchObject({ status: 200 });
      expect(await effects.of("ended-and-broken")).toBe(1);
      expect(await effects.remembered("ended-and-broken")).toBe(0);
      expect(await receiver.receive(request)).toMatchObject({ status: 200, outcome: "handled" });
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
  });

  describe("the client that a handler gets", () => {
    it("tx is an instance of pg's client", async () => {
      await processWith("asked", (tx) => {
        expect(tx).toBeInstanceOf(pg.Client);
        expect(tx.constructor).toBe(pg.Client);
        const ignore = (): void => undefined;
        expect(tx.once("notice", ignore)).toBe(tx);
        expect(tx.off("notice", ignore)).toBe(tx);
        expect(tx.escapeLiteral("it's")).toBe("'it''s'");
        // pg itself answers like this without the store.
        const nothing: unknown = undefined;
        expect(() => tx.query(nothing as string)).toThrow(TypeError);
      });
    });

    it("tx refuses release(), and the next delivery waits for its own client", async () => {
      const single = server.pool({ max: 1 });
      const releasing = processWith(
        "releasing",
        (tx) => {
          tx.release();
        },
        single,
      );
      const innocent = processWith("innocent", () => Promise.reject(new Error("no")), single);
      await expect(releasing).rejects.toThrow("the store releases tx");
      await expect(innocent).rejects.toThrow("no");
      for (const key of ["releasing", "innocent"]) {
        expect(await effects.of(key)).toBe(0);
        expect(await effects.remembered(key)).toBe(0);
      }
      expect(single.idleCount).toBe(1);
    });

    it("tx refuses calls after the handler has settled, and the next delivery is not affected", async () => {
      const single = server.pool({ max: 1 });
      const kept = deferred<pg.PoolClient>();
      const first = processWith(
        "late",
        (tx) => {
          kept.resolve(tx);
          throw new Error("the look-up took too long");
        },
        single,
      );
      await expect(first).rejects.toThrow("took too long");
      const late = await kept.promise;
      const next = processWith(
        "next",
        async () => {
          const refusal = { message: expect.stringContaining("after the handler had") as string };
          await expect(effects.write(late, "late")).rejects.toMatchObject(refusal);
          await expect(late.query("SELECT FROM nowhere")).rejects.toMatchObject(refusal);
          expect(() => {
            late.release();
          }).toThrow("after the handler had settled");
          late.off("notice", () => undefined);
        },
        single,
      );
      expect(await next).toEqual(PROCESSED);
      expect(await effects.of("late")).toBe(0);
      expect(await effects.of("next")).toBe(1);
    });
  });
});
