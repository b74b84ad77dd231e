import pg from "pg";
import { afterEach, expect, it, vi } from "vitest";
import { DiscardDelivery, RetryLater, type WebhookReceiver } from "../../../src/index.js";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { createEffects, databaseOf } from "../../support/stores/sql-engine.js";
import { describeSql } from "../../support/stores/sql-engines.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

describeSql("a receiver", (engine) => {
  const db = databaseOf(engine);
  let thrown: Error | undefined;

  afterEach(() => {
    thrown = undefined;
  });

  /** Writes an effect in the transaction of each delivery, then throws the error that a test sets. */
  const inTransactions = (of = db.pool) =>
    transactionalReceiver(engine.makeTransactions(of), async ({ id, tx }) => {
      await db.effects.write(tx, id);
      if (thrown !== undefined) throw thrown;
    });

  async function outcomeOf(receiver: WebhookReceiver, id: string) {
    return (await receiver.receive(await delivery({ id }))).outcome;
  }

  it(`a receiver on ${engine.store} answers 503 while its pool is exhausted, and leaves no claim behind`, async () => {
    const single = db.server.pool({ max: 1 });
    const store = engine.makeStore(single);
    const hasty = alarmReceiver(() => undefined, { store, dependencyTimeoutMs: 100 });
    const receiver = alarmReceiver(() => undefined, { store });
    const connection = await engine.connect(single);
    const refused = await hasty.receive(await delivery({ id: "exhausted" }));
    expect(refused).toMatchObject({ status: 503, outcome: "store_unavailable" });
    connection.release();
    // The late claim is granted and then released.
    await expect.poll(() => outcomeOf(receiver, "exhausted")).toBe("handled");
    expect(await outcomeOf(receiver, "exhausted")).toBe("duplicate");
  });

  it(`a receiver on ${engine.transactions} handles a delivery once if many duplicates arrive together`, async () => {
    const receivers = [inTransactions(), inTransactions(db.server.pool())];
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        outcomeOf(receivers[index % 2] ?? inTransactions(), "many"),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "handled")).toHaveLength(1);
    const others = outcomes.filter((outcome) => outcome !== "handled");
    expect(["in_flight", "duplicate"]).toEqual(expect.arrayContaining([...new Set(others)]));
    expect(await db.effects.of("many")).toBe(1);
  });

  it(`a receiver on ${engine.transactions} rolls a failed handler back and handles the redelivery`, async () => {
    const receiver = inTransactions();
    thrown = new Error("no");
    expect(await outcomeOf(receiver, "failed")).toBe("handler_failed");
    thrown = new RetryLater({ afterMs: 1_000 });
    expect(await outcomeOf(receiver, "failed")).toBe("retry_later");
    expect(await db.effects.of("failed")).toBe(0);
    expect(await db.effects.remembered("failed")).toBe(0);
    thrown = undefined;
    expect(await outcomeOf(receiver, "failed")).toBe("handled");
    expect(await db.effects.of("failed")).toBe(1);
  });

  it(`a receiver on ${engine.transactions} remembers a discarded delivery without the handler's writes`, async () => {
    const receiver = inTransactions();
    thrown = new DiscardDelivery({ reason: "account closed" });
    expect(await outcomeOf(receiver, "discarded")).toBe("discarded");
    thrown = undefined;
    expect(await outcomeOf(receiver, "discarded")).toBe("duplicate");
    expect(await db.effects.of("discarded")).toBe(0);
  });

  it(`a receiver on ${engine.transactions} answers 503 while the server is down and handles afterwards`, async () => {
    const other = await engine.start();
    try {
      const pool = other.pool();
      await engine.makeTransactions(pool).migrate();
      await createEffects(engine, pool);
      const receiver = inTransactions(pool);
      await other.stop("crash");
      expect(await outcomeOf(receiver, "away")).toBe("store_unavailable");
      await other.start();
      expect(await outcomeOf(receiver, "away")).toBe("handled");
      expect(await outcomeOf(receiver, "away")).toBe("duplicate");
    } finally {
      await other.close();
    }
  });

  if (engine.name === "MySQL") {
    it("each receiver warns once if a crash of the MySQL server can lose what it committed", async () => {
      const flush = (value: number) =>
        db.pool.query(`SET GLOBAL innodb_flush_log_at_trx_commit = ${String(value)}`);
      const warn = vi.fn();
      const logger = { warn, error: () => undefined };
      const receivers = () => [
        alarmReceiver(() => undefined, { logger, store: engine.makeStore(db.pool) }),
        transactionalReceiver(engine.makeTransactions(db.pool), () => undefined, { logger }),
      ];
      const deliverAll = async (to: readonly WebhookReceiver[], name: string) => {
        for (const [index, receiver] of to.entries()) {
          await receiver.receive(await delivery({ id: `${name}-${String(index)}` }));
        }
        // The check runs in the background, on the same pool.
        await Promise.all(Array.from({ length: 20 }, () => db.pool.query("SELECT 1")));
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
  } else {
    it("postgresStore accepts a single client instead of a pool", async () => {
      const address = { host: "127.0.0.1", port: db.server.port };
      const client = new pg.Client({ ...address, user: "postgres", database: "postgres" });
      client.on("error", () => undefined);
      await client.connect();
      const receiver = alarmReceiver(() => undefined, { store: postgresStore({ pool: client }) });
      const request = await delivery({ id: "single" });
      expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
      expect(await receiver.receive(request)).toMatchObject({ outcome: "duplicate" });
      expect(await db.effects.remembered("single")).toBe(1);
      await client.end();
    });
  }
});
