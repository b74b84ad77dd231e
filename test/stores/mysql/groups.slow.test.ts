import type { Pool, RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, it } from "vitest";
import { mysqlStore } from "../../../src/stores/mysql/index.js";
import { describeMysql } from "../../support/mysql/mysql-describe.js";
import { startMysql, type MysqlServer } from "../../support/mysql/mysql-server.js";
import { groupedStoreCases, keysOf } from "../../support/stores/grouped-store-cases.js";

const TIMES = { leaseMs: 30_000, retentionMs: 3_600_000 };
const CLAIMED = { state: "claimed", takeover: false };

describeMysql("calls to mysqlStore at the same time", () => {
  let server: MysqlServer;
  let admin: Pool;

  beforeAll(async () => {
    server = await startMysql();
    admin = server.pool();
    await mysqlStore({ pool: admin }).migrate();
  });
  afterAll(async () => {
    await server.close();
  });

  const numberOf = async (sql: string): Promise<number> => {
    const [[row]] = await admin.query<RowDataPacket[]>(sql);
    return Number(row?.["Value"]);
  };

  groupedStoreCases(
    () => ({
      makeStore: () => mysqlStore({ pool: server.pool() }),
      async lock(keys) {
        const stranger = await server.pool({ connectionLimit: 1 }).getConnection();
        await stranger.query("START TRANSACTION");
        for (const key of keys) {
          await stranger.query("INSERT INTO gateway_deliveries (`key`, expires_at) VALUES (?, 1)", [
            key,
          ]);
        }
        return async () => {
          await stranger.query("ROLLBACK");
        };
      },
      deadlocks: () => numberOf("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"),
      async times(keys) {
        const [rows] = await admin.query<RowDataPacket[]>(
          `SELECT lease_until / 1000 - UNIX_TIMESTAMP(NOW(3)) AS lease,
              expires_at / 1000 - UNIX_TIMESTAMP(NOW(3)) AS kept
            FROM gateway_deliveries WHERE \`key\` IN (?) ORDER BY \`key\` DESC`,
          [keys],
        );
        return rows.map(({ lease, kept }) => ({
          lease: lease === null ? null : Number(lease),
          kept: Number(kept),
        }));
      },
    }),
    [{ why: "MySQL cannot store", key: "x".repeat(256), reason: { name: "RangeError" } }],
  );

  it("100 claims take two statements, and so do their completions", async () => {
    const store = mysqlStore({ pool: server.pool() });
    const keys = keysOf("hundred", 100);
    const statements = async (): Promise<number> => {
      const inserts = await numberOf("SHOW GLOBAL STATUS LIKE 'Com_insert'");
      return inserts + (await numberOf("SHOW GLOBAL STATUS LIKE 'Com_update'"));
    };
    const before = await statements();
    const claims = await Promise.all(keys.map(async (key) => store.claim(key, key, TIMES)));
    expect(claims).toEqual(keys.map(() => CLAIMED));
    expect((await statements()) - before).toBe(2);
    await Promise.all(keys.map(async (key) => store.complete(key, key, TIMES)));
    expect((await statements()) - before).toBe(4);
    const again = await Promise.all(keys.map(async (key) => store.claim(key, "b", TIMES)));
    expect(again).toEqual(keys.map(() => ({ state: "completed" })));
  });

  it("claims of a group on a row whose lease has ended are takeovers, and completed rows stay completed", async () => {
    const store = mysqlStore({ pool: server.pool() });
    const keys = keysOf("mixed", 30);
    const ended = keys.filter((_, index) => index % 3 === 0);
    const done = keys.filter((_, index) => index % 3 === 1);
    const short = { leaseMs: 1, retentionMs: 60_000 };
    await Promise.all(ended.map(async (key) => store.claim(key, "a", short)));
    await Promise.all(done.map(async (key) => store.complete(key, "a", { retentionMs: 60_000 })));
    await admin.query("DO SLEEP(0.05)");
    await Promise.all(done.map(async (key) => store.complete(key, "b", { retentionMs: 1 })));
    await admin.query("DO SLEEP(0.05)");
    const states = await Promise.all(keys.map(async (key) => store.claim(key, "b", TIMES)));
    const expected = [{ state: "claimed", takeover: true }, { state: "completed" }, CLAIMED];
    expect(states).toEqual(keys.map((_, index) => expected[index % 3]));
  });
});
