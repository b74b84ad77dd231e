import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  DUPLICATE,
  HANDLED,
  freshAlarm,
  post,
  startExample,
  type ExampleProcess,
} from "../support/package/example-process.js";
import { describePostgres } from "../support/postgres/postgres-describe.js";
import { startPostgres, type PostgresServer } from "../support/postgres/postgres-server.js";

describePostgres("the examples with PostgreSQL", () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool();
  });
  afterAll(async () => {
    await server.close();
  });

  describe.each(["postgres.ts", "postgres-kysely.ts", "postgres-drizzle.ts"])("%s", (file) => {
    let example: ExampleProcess;

    beforeAll(async () => {
      const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
      example = await startExample(file, { DATABASE_URL: url });
    });
    afterAll(() => example.kill());

    async function alarmsOf(id: string): Promise<readonly unknown[]> {
      const query = "SELECT account_id, event_type FROM alarms WHERE delivery_id = $1";
      const { rows } = await pool.query<Record<string, unknown>>(query, [id]);
      return rows;
    }

    it(`examples/${file} writes an alarm once, however often it is sent`, async () => {
      const sent = await freshAlarm();
      expect(await post(example.url, sent)).toEqual(HANDLED);
      expect(await post(example.url, sent)).toEqual(DUPLICATE);
      expect(await alarmsOf(sent.id)).toEqual([{ account_id: "42", event_type: "email_hacked" }]);
    });

    it(`examples/${file} keeps neither alarm nor delivery if the transaction fails`, async () => {
      const sent = await freshAlarm({ account_id: 43 });
      await pool.query("ALTER TABLE alarms ADD CONSTRAINT refused CHECK (account_id <> 43)");
      expect(await post(example.url, sent)).toMatchObject({ error: { code: "HANDLER_FAILED" } });
      expect(await alarmsOf(sent.id)).toEqual([]);
      await pool.query("ALTER TABLE alarms DROP CONSTRAINT refused");
      expect(await post(example.url, sent)).toEqual(HANDLED);
      expect(await alarmsOf(sent.id)).toEqual([{ account_id: "43", event_type: "email_hacked" }]);
      await pool.query("TRUNCATE alarms");
    });

    it(`examples/${file} shuts down in order on SIGTERM`, async () => {
      expect(await example.terminate()).toEqual([0, null]);
    });
  });
});
