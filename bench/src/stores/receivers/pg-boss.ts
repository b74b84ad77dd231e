import pg from "pg";
import { PgBoss } from "pg-boss";
import type * as inboxes from "identity-gateway-webhooks/inbox";
import type * as pgBossInbox from "identity-gateway-webhooks/pg-boss";
import { POOL_SIZE } from "../engines/engine.js";
import type { Contenders } from "./contender.js";

const CREATE = "CREATE TABLE IF NOT EXISTS jobs (id text PRIMARY KEY, type text, body text)";
const ENQUEUE = "INSERT INTO jobs VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

/** The inbox on pg-boss beside one insert into a table of jobs. */
export const throughPgBoss: Contenders = {
  async ours(load, { port, database }) {
    const { inbox } = await load<typeof inboxes>("inbox");
    const { pgBossQueue } = await load<typeof pgBossInbox>("pg-boss");
    const boss = new PgBoss({
      connectionString: `postgres://postgres@127.0.0.1:${port}/${database}`,
      max: POOL_SIZE,
    });
    boss.on("error", () => undefined);
    await boss.start();
    return { newAlarm: inbox({ driver: pgBossQueue({ boss }) }).new_alarm };
  },
  async byHand({ port, database }) {
    const connection = { host: "127.0.0.1", port, database, user: "postgres" };
    const pool = new pg.Pool({ ...connection, max: POOL_SIZE });
    pool.on("error", () => undefined);
    await pool.query(CREATE);
    return async (id, type, body) =>
      (await pool.query(ENQUEUE, [id, type, body.toString("utf8")])).rowCount === 1;
  },
};
