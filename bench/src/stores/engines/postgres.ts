import { startPostgres } from "../../../../test/support/postgres/postgres-server.js";
import type { Engine } from "./engine.js";

/** Ends the receivers' connections, so that each of them hands in its statistics. Their pools open new ones. */
const HAND_IN =
  "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname LIKE 'contender%'";
const REMEMBER = `INSERT INTO gateway_deliveries (key, expires_at)
  SELECT gen_random_uuid(), now() + interval '7 days' FROM generate_series(1, $1)`;
const SYNCS = "SELECT wal_sync::int AS syncs FROM pg_stat_wal";

/** PostgreSQL, which syncs each commit to the disk. */
export async function startPostgresEngine(contenders: number): Promise<Engine> {
  const server = await startPostgres({ fsync: "on" });
  const pool = server.pool({ max: 1 });
  for (let number = 0; number < contenders; number++) {
    await pool.query(`CREATE DATABASE contender${number}`);
  }
  return {
    port: server.port,
    folder: "",
    databaseOf: (number) => `contender${number}`,
    async syncs() {
      await pool.query(HAND_IN);
      const { rows } = await pool.query<{ syncs: number }>(SYNCS);
      return rows[0]?.syncs ?? Number.NaN;
    },
    async bytes(database) {
      const { rows } = await server
        .pool({ database })
        .query<{ bytes: string }>("SELECT pg_total_relation_size('gateway_deliveries') AS bytes");
      return Number(rows[0]?.bytes);
    },
    async remember(database, count) {
      const own = server.pool({ database, max: 1 });
      await own.query(REMEMBER, [count]);
      await own.query("VACUUM ANALYZE gateway_deliveries");
    },
    close: server.close,
  };
}
