import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { PgBoss } from "pg-boss";
import { postgresStore } from "../../../src/stores/postgres/index.js";
import { startPostgres, type PostgresServer } from "../../support/postgres/postgres-server.js";
import type { Mode, Setup } from "../plan/mode.js";
import { EFFECTS_TABLE, PAIRS, PAIRS_TABLE, QUEUE } from "../receivers/receiver-config.js";
import { startStandby, type Standby } from "./postgres-standby.js";
import { crashingStore, type StoreContent, type StoreServer } from "./store-server.js";

const HARNESS = "fault harness";
const COUNT =
  "SELECT count(*)::int AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1";
const END_ALL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND application_name <> $1`;
/** The settings of a mode are for its receivers. */
const UNLIMITED = "-c statement_timeout=0 -c default_transaction_read_only=off";
const PAUSE_MS = 200;
const LOOK_MS = 100;
/** Half of those that are being handled, as far as no other transaction has them. */
const LOCK_ROWS = `SELECT FROM gateway_deliveries WHERE owner IS NOT NULL AND random() < 0.5
  FOR UPDATE SKIP LOCKED`;

/** The run's own PostgreSQL server. A restart is a crash: every backend aborts, and nothing is flushed. */
export async function openPostgres({
  setup,
  server: settings,
  standby: kind,
}: Mode): Promise<StoreServer> {
  const server = await startPostgres(settings);
  const ownPool = (of: PostgresServer): pg.Pool =>
    of.pool({ max: 3, application_name: HARNESS, options: UNLIMITED });
  let pool = ownPool(server);
  let standby: Standby | undefined;
  try {
    await makeTables(setup, pool, server.port);
    if (kind !== undefined) standby = await startStandby(kind, server.port, pool, settings);
  } catch (error) {
    await server.close();
    throw error;
  }
  const counter = countConnections(pool);
  return crashingStore(server, () => server.stop("crash"), {
    lock: (ms) => hold(pool, "LOCK TABLE gateway_deliveries IN ACCESS EXCLUSIVE MODE", ms),
    // A server that is down has no rows to lock.
    lockRows: (ms) => hold(pool, LOCK_ROWS, ms).catch(() => undefined),
    endConnections: (ms) => endConnections(pool, ms),
    freeze: (ms) => freeze(pool, ms),
    async refuseWrites(ms) {
      await setReadOnly(pool, "on");
      await wait(ms);
      await setReadOnly(pool, "off");
    },
    async failOver(ms) {
      if (standby === undefined) throw new Error("this mode has no standby");
      await standby.takeOver(ms, async () => {
        signalAll(await processesOf(pool), "SIGKILL");
        await server.stop("crash");
      });
      pool = ownPool(standby.server);
      return { port: standby.server.port, isComplete: kind === "synchronous" };
    },
    mostConnections: counter.most,
    read: () => readContent(setup, pool),
    async close() {
      await counter.stop();
      await standby?.close();
      await server.close();
    },
  });
}

/** Polls the number of connections that do not belong to the harness. */
function countConnections(pool: pg.Pool) {
  let most = 0;
  let isStopped = false;
  const look = async () => {
    const { rows } = await pool.query<{ count: number }>(COUNT, [HARNESS]);
    most = Math.max(most, rows[0]?.count ?? 0);
  };
  const run = async () => {
    while (!isStopped) {
      // A stopped server has no connections.
      await look().catch(() => undefined);
      await wait(LOOK_MS);
    }
  };
  const ended = run();
  return {
    most: () => most,
    stop: () => {
      isStopped = true;
      return ended;
    },
  };
}

async function endConnections(pool: pg.Pool, ms: number): Promise<void> {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt) {
    // A server that is down has no connections.
    await pool.query(END_ALL, [HARNESS]).catch(() => undefined);
    await wait(Math.random() * PAUSE_MS);
  }
}

/** Suspends the server and all its processes. */
async function freeze(pool: pg.Pool, ms: number): Promise<void> {
  const pids = await processesOf(pool);
  signalAll(pids, "SIGSTOP");
  await wait(ms);
  signalAll(pids, "SIGCONT");
}

/** The processes of the server, its main process first. */
async function processesOf(pool: pg.Pool): Promise<readonly number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid
      UNION ALL SELECT pid FROM pg_stat_activity`,
  );
  return rows.map(({ pid }) => pid);
}

function signalAll(pids: readonly number[], signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

/** Also for the sessions that are open. */
async function setReadOnly(pool: pg.Pool, value: "on" | "off"): Promise<void> {
  await pool.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
  await pool.query("SELECT pg_reload_conf()");
}

/** Runs `statement` in a transaction that stays open for `ms`, or until the server crashes. */
async function hold(pool: pg.Pool, statement: string, ms: number): Promise<void> {
  const stranger = await pool.connect();
  // Without a listener the error of a crash would end the run.
  const ignore = () => undefined;
  stranger.on("error", ignore);
  try {
    await stranger.query("BEGIN");
    await stranger.query(statement);
    await wait(ms);
    await stranger.query("ROLLBACK");
    stranger.off("error", ignore);
    stranger.release();
  } catch {
    stranger.release(true);
  }
}

async function makeTables(setup: Setup, pool: pg.Pool, port: number): Promise<void> {
  await postgresStore({ pool }).migrate();
  if (setup !== "inbox-pg-boss") {
    await pool.query(`CREATE TABLE ${EFFECTS_TABLE} (id text NOT NULL)`);
    await pool.query(`CREATE TABLE ${PAIRS_TABLE} (name text PRIMARY KEY, count int)`);
    await pool.query(`INSERT INTO ${PAIRS_TABLE} VALUES ${PAIRS}`);
    return;
  }
  // Here, so that four receivers do not do it at once during the faults.
  const boss = new PgBoss({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
  boss.on("error", () => undefined);
  await boss.start();
  await boss.createQueue(`${QUEUE}-dead`);
  await boss.createQueue(QUEUE);
  await boss.stop({ graceful: false });
}

async function readContent(setup: Setup, pool: pg.Pool): Promise<StoreContent> {
  const read = async (sql: string): Promise<{ id: string; state: string }[]> => {
    const { rows } = await pool.query<{ id: string; state: string }>(sql);
    return rows;
  };
  const idsOf = async (sql: string) => (await read(sql)).map(({ id }) => id);
  if (setup === "inbox-pg-boss") {
    const waiting = await read(
      "SELECT data->>'id' AS id, concat_ws(' ', name, state, 'attempt', retry_count, 'due', start_after, 'of', now()) AS state FROM pgboss.job",
    );
    const deadIds = await idsOf(
      `SELECT data->>'id' AS id FROM pgboss.job WHERE name = '${QUEUE}-dead'`,
    );
    const exactIds = await idsOf(
      "SELECT substr(key, 5) AS id FROM gateway_deliveries WHERE owner IS NULL",
    );
    const storedIds = [...waiting.map(({ id }) => id), ...exactIds];
    return {
      storedIds,
      exactIds,
      deadIds,
      unfinishedIds: waiting
        .filter(({ id }) => !deadIds.includes(id))
        .map(({ id, state }) => `${id}: ${state}`),
    };
  }
  const storedIds = await idsOf("SELECT key AS id FROM gateway_deliveries");
  if (setup !== "transactions-postgres") return { storedIds };
  return { storedIds, exactIds: await idsOf(`SELECT id FROM ${EFFECTS_TABLE}`) };
}
