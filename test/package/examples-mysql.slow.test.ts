import type { Pool, RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeMysql } from "../support/mysql/mysql-describe.js";
import { startMysql, type MysqlServer } from "../support/mysql/mysql-server.js";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  post,
  startExample,
  type ExampleProcess,
} from "../support/package/example-process.js";

describeMysql("examples/mysql.ts", () => {
  let server: MysqlServer;
  let pool: Pool;
  let example: ExampleProcess;

  beforeAll(async () => {
    server = await startMysql();
    pool = server.pool();
    example = await startExample("mysql.ts", {
      MYSQL_URL: `mysql://root@127.0.0.1:${server.port}/test`,
    });
  });
  afterAll(async () => {
    await example.kill();
    await server.close();
  });

  async function alarmsOf(id: string): Promise<readonly unknown[]> {
    const [rows] = await pool.query<RowDataPacket[]>(
      "SELECT account_id, event_type FROM alarms WHERE delivery_id = ?",
      [id],
    );
    return rows;
  }

  it("examples/mysql.ts writes an alarm once, however often it is sent", async () => {
    const sent = await freshAlarm();
    expect(await post(example.url, sent)).toEqual(HANDLED);
    expect(await post(example.url, sent)).toEqual(DUPLICATE);
    expect(await alarmsOf(sent.id)).toEqual([{ account_id: 42, event_type: "email_hacked" }]);
  });

  it("examples/mysql.ts keeps neither alarm nor delivery if the transaction fails", async () => {
    const sent = await freshAlarm({ account_id: 43 });
    await pool.query("ALTER TABLE alarms ADD CONSTRAINT refused CHECK (account_id <> 43)");
    expect(await post(example.url, sent)).toMatchObject({ status: 500 });
    expect(await alarmsOf(sent.id)).toEqual([]);
    await pool.query("ALTER TABLE alarms DROP CONSTRAINT refused");
    expect(await post(example.url, sent)).toEqual(HANDLED);
    expect(await alarmsOf(sent.id)).toEqual([{ account_id: 43, event_type: "email_hacked" }]);
  });

  it("examples/mysql.ts shuts down in order on SIGTERM", async () => {
    expect(await example.terminate()).toEqual([0, null]);
  });
});
