import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { startPostgres } from "../../support/postgres/postgres-server.js";
import { startTcpProxy } from "../harness/tcp-proxy.js";

/** A standby that can take over. */
export type Standby = Awaited<ReturnType<typeof startStandby>>;

const NAME = "standby";
/** The longest wait for a commit: there is none if the traffic has ended. */
const MAX_IDLE_MS = 10_000;
const STATES = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'";

/** Starts a standby of the server at `port`. `pool`: of that server. Resolves when it has all that the server has. */
export async function startStandby(
  kind: "synchronous" | "asynchronous",
  port: number,
  pool: pg.Pool,
  settings: Readonly<Record<string, string>> = {},
) {
  const stream = await startTcpProxy(port);
  let isCut = false;
  const cut = async () => {
    if (!isCut) {
      isCut = true;
      await stream.close();
    }
  };
  const source = `host=127.0.0.1 port=${stream.port} user=postgres application_name=${NAME}`;
  const own = { ...settings, primary_conninfo: source };
  const server = await startPostgres(own, port).catch(async (error: unknown) => {
    await stream.close();
    throw error;
  });
  const close = async () => {
    await cut();
    await server.close();
  };
  const reached = async (state: string) => {
    for (;;) {
      const { rows } = await pool.query<{ sync_state: string }>(STATES);
      if (rows[0]?.sync_state === state) return;
      await wait(20);
    }
  };
  try {
    await reached("async");
    if (kind === "synchronous") {
      await pool.query(`ALTER SYSTEM SET synchronous_standby_names = '${NAME}'`);
      await pool.query("SELECT pg_reload_conf()");
      await reached("sync");
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    server,
    /**
     * Holds the stream of the primary back until it has committed without its standby, and for `ms` more. Then calls
     * `killPrimary` and promotes the standby, which lacks what it has not received.
     */
    async takeOver(ms: number, killPrimary: () => Promise<void>) {
      stream.setHeld(true);
      if (kind === "asynchronous") await hasCommitted(pool);
      await wait(ms);
      await killPrimary();
      await cut();
      await server.pool({ max: 1 }).query("SELECT pg_promote()");
    },
    close,
  };
}

/** Resolves when all transactions that write now, and one that began later, have ended. */
async function hasCommitted(pool: pg.Pool): Promise<void> {
  const snapshot = async () => {
    const { rows } = await pool.query<{ least: string; next: string }>(
      "SELECT pg_snapshot_xmin(s)::text AS least, pg_snapshot_xmax(s)::text AS next FROM pg_current_snapshot() AS s",
    );
    const [{ least, next } = { least: "0", next: "0" }] = rows;
    return { least: BigInt(least), next: BigInt(next) };
  };
  const { next } = await snapshot();
  const deadline = performance.now() + MAX_IDLE_MS;
  while ((await snapshot()).least <= next && performance.now() < deadline) await wait(20);
}
