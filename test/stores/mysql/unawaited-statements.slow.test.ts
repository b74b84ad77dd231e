import type { PoolConnection } from "mysql2/promise";
import { beforeAll, expect, it } from "vitest";
import { mysqlTransactions } from "../../../src/stores/mysql/index.js";
import { deferred } from "../../support/deferred.js";
import { delivery } from "../../support/deliveries.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { mysqlEngine } from "../../support/mysql/mysql-engine.js";
import { databaseOf, processWriting } from "../../support/stores/sql-engine.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const PROCESSED = { state: "processed" };

describeMysql("a statement in a MySQL transaction whose promise the handler does not use", () => {
  const db = databaseOf(mysqlEngine);

  const processWith = (key: string, beside: (tx: PoolConnection) => unknown, pool = db.pool) =>
    processWriting(mysqlTransactions({ pool }), db.effects, key, beside);
  const duplicate = (tx: PoolConnection) => tx.execute("INSERT INTO unique_ones VALUES (1)");

  beforeAll(async () => {
    await db.pool.query("CREATE TABLE unique_ones (id int PRIMARY KEY)");
    await db.pool.query("INSERT INTO unique_ones VALUES (1)");
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
    expect(await db.effects.of(what)).toBe(0);
    expect(await db.effects.remembered(what)).toBe(0);
  });

  it("its failure is answered 503", async () => {
    const request = await delivery({ id: "not-awaited" });
    const receiver = transactionalReceiver(mysqlTransactions({ pool: db.pool }), ({ tx }) => {
      void duplicate(tx);
    });
    const answer = await receiver.receive(request);
    expect(answer).toMatchObject({ status: 503, outcome: "store_unavailable" });
    expect(await db.effects.remembered("not-awaited")).toBe(0);
  });

  it("its connection goes back to the pool", async () => {
    const single = db.server.pool({ max: 1 });
    const failed = processWith("one connection", (tx) => void duplicate(tx), single);
    await expect(failed).rejects.toMatchObject({ code: "transaction_aborted" });
    expect(await processWith("one connection", () => undefined, single)).toEqual(PROCESSED);
  });

  it("its success is committed", async () => {
    const beside = (tx: PoolConnection): void => void db.effects.write(tx, "not awaited");
    expect(await processWith("not awaited", beside)).toEqual(PROCESSED);
    expect(await db.effects.of("not awaited")).toBe(2);
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
    expect(await db.effects.of(how)).toBe(1);
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
