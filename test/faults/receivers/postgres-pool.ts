import pg from "pg";

/** Opens a pool whose broken connections do not end the process. */
export function openPool(port: number): pg.Pool {
  const pool = new pg.Pool({
    ...{ host: "127.0.0.1", port, user: "postgres", database: "postgres" },
    ...{ max: 12, connectionTimeoutMillis: 1_000 },
  });
  pool.on("error", () => undefined);
  return pool;
}
