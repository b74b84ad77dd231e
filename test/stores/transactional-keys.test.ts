import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TransactionalStore } from "../../src/index.js";
import { mysqlTransactions } from "../../src/stores/mysql/index.js";
import { postgresTransactions } from "../../src/stores/postgres/index.js";
import { sqliteTransactions } from "../../src/stores/sqlite/index.js";
import { describeMysql } from "../support/mysql/mysql-describe.js";
import { startMysql } from "../support/mysql/mysql-server.js";
import { describePostgres } from "../support/postgres/postgres-describe.js";
import { startPostgres } from "../support/postgres/postgres-server.js";
import { betterSqlite3 } from "../support/sqlite/drivers.js";
import { sqliteFolder } from "../support/sqlite/folder.js";

const DAY_MS = 86_400_000;
const UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const SAME = "a".repeat(128);
/** Ids that a store may take for equal: cut, in another letter case, or as numbers. */
const IDS = [
  ...[16, 17, 32, 33, 36, 37, 64, 65, 127, 128].map(
    (place) => `${SAME.slice(0, place - 1)}b${SAME.slice(place)}`,
  ),
  ...[SAME, UUID, UUID.toUpperCase(), UUID.replaceAll("-", ""), "a", "A", "a.", "1e3", "1000"],
];

interface OpenStore {
  readonly store: TransactionalStore<unknown>;
  /** Moves the rows into the past, in place of the clock into the future. */
  readonly passDays: (days: number) => Promise<void>;
  readonly close: () => Promise<void> | void;
}

/** The cases of the DeliveryStore contract that a transactional store must pass too. */
function remembersKeys(name: string, open: () => Promise<OpenStore>): void {
  let opened: OpenStore;
  const process = async (key: string, retentionMs: number) =>
    (await opened.store.process(key, () => Promise.resolve(), { retentionMs })).state;

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  it(`${name} tells apart ids that are long or look alike`, async () => {
    for (const id of IDS) expect(await process(id, DAY_MS), id).toBe("processed");
    for (const id of IDS) expect(await process(id, DAY_MS), id).toBe("completed");
  });

  it(`${name} remembers an id until day 30 of its retention, and forgets it then`, async () => {
    expect(await process("month", 30 * DAY_MS)).toBe("processed");
    for (const days of [1.1, 28.8]) {
      await opened.passDays(days);
      expect(await process("month", 30 * DAY_MS)).toBe("completed");
    }
    await opened.passDays(0.2);
    expect(await process("month", 30 * DAY_MS)).toBe("processed");
  });
}

describePostgres("the keys of postgresTransactions", () => {
  remembersKeys("postgresTransactions", async () => {
    const server = await startPostgres();
    const pool = server.pool();
    const store = postgresTransactions({ pool });
    await store.migrate();
    const move = "UPDATE gateway_deliveries SET expires_at = expires_at - $1 * interval '1 day'";
    return {
      store,
      async passDays(days) {
        await pool.query(move, [days]);
      },
      close: () => server.close(),
    };
  });
});

describeMysql("the keys of mysqlTransactions", () => {
  remembersKeys("mysqlTransactions", async () => {
    const server = await startMysql();
    const pool = server.pool();
    const store = mysqlTransactions({ pool });
    await store.migrate();
    return {
      store,
      async passDays(days) {
        const ms = Math.round(days * DAY_MS);
        await pool.query("UPDATE gateway_deliveries SET expires_at = expires_at - ?", [ms]);
      },
      close: () => server.close(),
    };
  });
});

describe("the keys of sqliteTransactions", () => {
  remembersKeys("sqliteTransactions", () => {
    const folder = sqliteFolder(betterSqlite3);
    const rows = folder.open();
    const store = sqliteTransactions({ database: folder.open() });
    return Promise.resolve({
      store,
      passDays(days) {
        const ms = Math.round(days * DAY_MS);
        rows.exec(`UPDATE gateway_deliveries SET forget_at = forget_at - ${ms}`);
        return Promise.resolve();
      },
      close: folder.remove,
    });
  });
});
