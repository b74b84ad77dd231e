import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";
import { delivery } from "../../support/deliveries.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import {
  createEffects,
  mustNotRun,
  type Effects,
} from "../../support/postgres/postgres-effects.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const RETENTION = { retentionMs: 3_600_000 };
const PROCESSED = { state: "processed" };

describePostgres("postgresTransactions on faults", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let effects: Effects;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool();
    await postgresTransactions({ pool }).migrate();
    effects = await createEffects(pool);
  });
  afterAll(async () => {
    await server.close();
  });

  /** Processes `key` again while the server has not noticed the end of an earlier transaction. */
  async function processLater(key: string): Promise<string> {
    const store = postgresTransactions({ pool });
    for (;;) {
      const { state } = await store.process(key, (tx) => effects.write(tx, key), RETENTION);
      if (state !== "in_flight") return state;
      await pool.query("SELECT pg_sleep(0.02)");
    }
  }

  async function expectNothingOf(key: string): Promise<void> {
    expect(await effects.of(key)).toBe(0);
    expect(await effects.remembered(key)).toBe(0);
  }

  it("a transaction of a killed process leaves neither key nor effect", async () => {
    const script = fileURLToPath(
      new URL("../../support/postgres/postgres-killed-handler.ts", import.meta.url),
    );
    const args = ["--import", "tsx", script, String(server.port), "killed"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    expect(line.toString()).toBe("written\n");
    const duplicate = await postgresTransactions({ pool }).process("killed", mustNotRun, RETENTION);
    expect(duplicate).toMatchObject({ state: "in_flight" });
    child.kill("SIGKILL");
    await once(child, "exit");
    await expectNothingOf("killed");
    expect(await processLater("killed")).toBe("processed");
    expect(await effects.of("killed")).toBe(1);
  });

  it("a transaction on a server that crashes leaves neither key nor effect, and its client is closed", async () => {
    const other = await startPostgres();
    try {
      const otherPool = other.pool();
      const store = postgresTransactions({ pool: otherPool });
      await store.migrate();
      const written = await createEffects(otherPool);
      const work = (tx: pg.PoolClient) => written.write(tx, "k");
      for (const mode of ["crash", "orderly"] as const) {
        const lost = store.process(
          "k",
          async (tx) => {
            await work(tx);
            await other.stop(mode);
          },
          RETENTION,
        );
        await expect(lost).rejects.toThrow();
        expect(otherPool.totalCount).toBe(0);
        await other.start();
        expect(await written.of("k")).toBe(0);
        expect(await written.remembered("k")).toBe(0);
      }
      expect(await store.process("k", work, RETENTION)).toEqual(PROCESSED);
      expect(await written.of("k")).toBe(1);
    } finally {
      await other.close();
    }
  });

  it("a transaction whose connection breaks rejects at once and aborts context.signal", async () => {
    // Without a listener for its error, the client would end the process here.
    let aborted: unknown;
    const store = postgresTransactions({ pool });
    const receiver = transactionalReceiver(store, async ({ id, tx, signal }) => {
      await effects.write(tx, id);
      const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      const lost = once(signal, "abort");
      await pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
      await lost;
      aborted = signal.reason;
      await expect(tx.query("SELECT 1")).rejects.toThrow("after the handler had settled");
    });
    const response = await receiver.receive(await delivery({ id: "broken" }));
    expect(response).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(aborted).toMatchObject({ name: "TransactionLostError" });
    await expectNothingOf("broken");
    expect(await processLater("broken")).toBe("processed");
  });

  it("a transaction with a caught statement error rejects and keeps nothing", async () => {
    const single = server.pool({ max: 1 });
    const swallowed = postgresTransactions({ pool: single }).process(
      "aborted",
      async (tx) => {
        await effects.write(tx, "aborted");
        await tx.query("SELECT 1 / 0").catch(() => undefined);
      },
      RETENTION,
    );
    await expect(swallowed).rejects.toThrow("rolled back at COMMIT");
    await expectNothingOf("aborted");
    expect(single.idleCount).toBe(1);
  });

  it("a transaction that the server refuses to commit rejects with its error and keeps nothing", async () => {
    await pool.query(
      `CREATE TABLE parents (id int PRIMARY KEY);
      CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`,
    );
    const single = server.pool({ max: 1 });
    const refused = postgresTransactions({ pool: single }).process(
      "refused",
      async (tx) => {
        await effects.write(tx, "refused");
        await tx.query("INSERT INTO children VALUES (1)");
      },
      RETENTION,
    );
    await expect(refused).rejects.toHaveProperty("code", "23503");
    await expectNothingOf("refused");
    expect(single.idleCount).toBe(1);
  });

  it("a transaction that loses a serialization conflict rejects and runs no handler twice", async () => {
    await pool.query("CREATE TABLE balances (name text PRIMARY KEY, amount int)");
    await pool.query("INSERT INTO balances VALUES ('a', 1), ('b', 1)");
    const options = "-c default_transaction_isolation=serializable";
    const store = postgresTransactions({ pool: server.pool({ options }) });
    let runs = 0;
    const bothRead = new Set<string>();
    const skew = async (tx: pg.PoolClient, key: string): Promise<void> => {
      runs += 1;
      await effects.write(tx, key);
      await tx.query("SELECT sum(amount) FROM balances");
      bothRead.add(key);
      await vi.waitUntil(() => bothRead.size === 2, { timeout: 20_000 });
      await tx.query("UPDATE balances SET amount = 0 WHERE name = $1", [key]);
    };
    const results = await Promise.allSettled(
      ["a", "b"].map((key) => store.process(key, (tx) => skew(tx, key), RETENTION)),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const rejected = results.find((result) => result.status === "rejected");
    expect(rejected?.reason).toHaveProperty("code", "40001");
    expect(runs).toBe(2);
    const loser = results[0]?.status === "rejected" ? "a" : "b";
    await expectNothingOf(loser);
    expect(await processLater(loser)).toBe("processed");
  });
});
