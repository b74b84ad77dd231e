import { spawn, type ChildProcessByStdio } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TEST_SECRET, alarm, delivery } from "../support/deliveries.js";
import { describePostgres } from "../support/postgres/postgres-describe.js";
import { startPostgres, type PostgresServer } from "../support/postgres/postgres-server.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

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
    let example: ChildProcessByStdio<null, Readable, Readable>;
    let url: string;

    beforeAll(async () => {
      example = spawn(process.execPath, ["--import", "tsx", `examples/${file}`], {
        cwd: root,
        env: {
          ...process.env,
          PORT: "0",
          GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
          DATABASE_URL: `postgres://postgres@127.0.0.1:${server.port}/postgres`,
        },
        stdio: ["ignore", "pipe", "pipe"],
      });
      // Shown only if the example does not start: its handler causes errors on purpose.
      const complaints = text(example.stderr);
      const lines = createInterface({ input: example.stdout });
      const [line] = (await Promise.race([once(lines, "line"), once(lines, "close")])) as string[];
      if (line === undefined) throw new Error(await complaints);
      url = line.replace("listening on ", "");
    });
    afterAll(() => {
      example.kill("SIGKILL");
    });

    async function post(id: string, body: string): Promise<unknown> {
      const timestamp = Math.floor(Date.now() / 1000);
      const { headers } = await delivery({ id, timestamp, body });
      const response = await fetch(url, { method: "POST", headers, body });
      return response.json();
    }

    async function alarmsOf(id: string): Promise<readonly unknown[]> {
      const query = "SELECT account_id, event_type FROM alarms WHERE delivery_id = $1";
      const { rows } = await pool.query<Record<string, unknown>>(query, [id]);
      return rows;
    }

    it(`examples/${file} writes an alarm once, however often it is sent`, async () => {
      const id = randomUUID();
      const body = JSON.stringify({ alarm: alarm() });
      expect(await post(id, body)).toEqual({ outcome: "handled" });
      expect(await post(id, body)).toEqual({ outcome: "duplicate" });
      expect(await alarmsOf(id)).toEqual([{ account_id: "42", event_type: "email_hacked" }]);
    });

    it(`examples/${file} keeps neither alarm nor delivery if the transaction fails`, async () => {
      const id = randomUUID();
      const body = JSON.stringify({ alarm: alarm({ account_id: 43 }) });
      await pool.query("ALTER TABLE alarms ADD CONSTRAINT refused CHECK (account_id <> 43)");
      expect(await post(id, body)).toMatchObject({ error: { code: "HANDLER_FAILED" } });
      expect(await alarmsOf(id)).toEqual([]);
      await pool.query("ALTER TABLE alarms DROP CONSTRAINT refused");
      expect(await post(id, body)).toEqual({ outcome: "handled" });
      expect(await alarmsOf(id)).toEqual([{ account_id: "43", event_type: "email_hacked" }]);
      await pool.query("TRUNCATE alarms");
    });

    it(`examples/${file} shuts down in order on SIGTERM`, async () => {
      const exited = once(example, "exit");
      example.kill("SIGTERM");
      expect(await exited).toEqual([0, null]);
    });
  });
});
