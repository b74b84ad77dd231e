import type { Pool } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { createWebhookReceiver, DiscardDelivery, RetryLater } from "../../../src/index.js";
import { mysqlStore, mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { NOW_MS, TEST_SECRET, delivery } from "../../support/deliveries.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { createEffects, type Effects } from "../../support/mysql/mysql-effects.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

describeMysql("a receiver on MySQL", () => {
  let server: MysqlServer;
  let pool: Pool;
  let effects: Effects;
  let thrown: Error | undefined;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool();
    await mysqlStore({ pool }).migrate();
    effects = await createEffects(pool);
  });
  afterEach(() => {
    thrown = undefined;
  });
  afterAll(async () => {
    await server.close();
  });

  /** Writes an effect in the transaction of each delivery, then throws the error that a test sets. */
  const inTransactions = (of: Pool = pool) =>
    createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      now: () => NOW_MS,
      store: mysqlTransactions({ pool: of }),
      handlers: {
        new_alarm: async (_alarm, { id, tx }) => {
          await effects.write(tx, id);
          if (thrown !== undefined) throw thrown;
        },
      },
    });

  async function outcomeOf(receiver: ReturnType<typeof inTransactions>, id: string) {
    return (await receiver.receive(await delivery({ id }))).outcome;
  }

  it("a receiver answers 503 while its pool is exhausted, and leaves no claim behind", async () => {
    const single = server.pool({ connectionLimit: 1 });
    const store = mysqlStore({ pool: single });
    const hasty = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 100 });
    const receiver = alarmReceiver(() => undefined, { store });
    const connection = await single.getConnection();
    const refused = await hasty.receive(await delivery({ id: "exhausted" }));
    expect(refused).toMatchObject({ status: 503, outcome: "store_unavailable" });
    connection.release();
    // The late claim is granted and then released.
    await expect.poll(() => outcomeOf(receiver, "exhausted")).toBe("handled");
    expect(await outcomeOf(receiver, "exhausted")).toBe("duplicate");
  });

  it("a receiver on mysqlTransactions handles a delivery once if many duplicates arrive together", async () => {
    const receivers = [inTransactions(), inTransactions(server.pool())];
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        outcomeOf(receivers[index % 2] ?? inTransactions(), "many"),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "handled")).toHaveLength(1);
    const others = outcomes.filter((outcome) => outcome !== "handled");
    expect(["in_flight", "duplicate"]).toEqual(expect.arrayContaining([...new Set(others)]));
    expect(await effects.of("many")).toBe(1);
  });

  it("a receiver on mysqlTransactions rolls a failed handler back and handles the redelivery", async () => {
    const receiver = inTransactions();
    thrown = new Error("no");
    expect(await outcomeOf(receiver, "failed")).toBe("handler_failed");
    thrown = new RetryLater({ afterMs: 1_000 });
    expect(await outcomeOf(receiver, "failed")).toBe("retry_later");
    expect(await effects.of("failed")).toBe(0);
    expect(await effects.remembered("failed")).toBe(0);
    thrown = undefined;
    expect(await outcomeOf(receiver, "failed")).toBe("handled");
    expect(await effects.of("failed")).toBe(1);
  });

  it("a receiver on mysqlTransactions remembers a discarded delivery without the handler's writes", async () => {
    const receiver = inTransactions();
    thrown = new DiscardDelivery({ reason: "account closed" });
    expect(await outcomeOf(receiver, "discarded")).toBe("discarded");
    thrown = undefined;
    expect(await outcomeOf(receiver, "discarded")).toBe("duplicate");
    expect(await effects.of("discarded")).toBe(0);
  });

  it("a receiver on mysqlTransactions answers 503 while the server is down and handles afterwards", async () => {
    const other = await startMysql();
    try {
      const otherPool = other.pool();
      await mysqlTransactions({ pool: otherPool }).migrate();
      await createEffects(otherPool);
      const receiver = inTransactions(otherPool);
      await other.stop("crash");
      expect(await outcomeOf(receiver, "away")).toBe("store_unavailable");
      await other.start();
      expect(await outcomeOf(receiver, "away")).toBe("handled");
      expect(await outcomeOf(receiver, "away")).toBe("duplicate");
    } finally {
      await other.close();
    }
  });

  it("each receiver warns once if a crash of the MySQL server can lose what it committed", async () => {
    const flush = (value: number) =>
      pool.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${String(value)}`);
    const warn = vi.fn();
    const logger = { warn, error: () => undefined };
    const receivers = () => [
      alarmReceiver(() => undefined, { logger, store: mysqlStore({ pool }) }),
      transactionalReceiver(mysqlTransactions({ pool }), () => undefined, { logger }),
    ];
    const deliverAll = async (to: ReturnType<typeof receivers>, name: string) => {
      for (const [index, receiver] of to.entries()) {
        await receiver.receive(await delivery({ id: `${name}-${String(index)}` }));
      }
      // The check runs in the background, on the same pool.
      await Promise.all(Array.from({ length: 20 }, () => pool.query("SELECT 1")));
    };
    await deliverAll(receivers(), "durable");
    expect(warn).not.toHaveBeenCalled();
    await flush(2);
    const warned = receivers();
    for (const name of ["first", "second"]) await deliverAll(warned, name);
    await flush(1);
    await expect.poll(() => warn.mock.calls.length).toBe(2);
    expect(String(warn.mock.calls[0])).toContain("innodb_flush_log_at_trx_commit");
  });
});
