import pg from "pg";
import type { ReceiverConfig } from "./receiver-config.js";

type PoolConfig = Pick<ReceiverConfig, "port" | "poolMax" | "flaw">;

/** Opens a pool whose broken connections do not end the process. */
export function openPool({ port, poolMax = 12, flaw }: PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    host: "127.0.0.1",
    port,
    user: "postgres",
    database: "postgres",
    max: poolMax,
    connectionTimeoutMillis: 1_000,
    options: flaw === "does not wait for the standby" ? "-c synchronous_commit=local" : "",
  });
  pool.on("error", () => undefined);
  return pool;
}
