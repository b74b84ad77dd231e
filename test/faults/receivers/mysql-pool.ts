import mysql from "mysql2/promise";

/** Opens a pool of as many connections as `openPool` of PostgreSQL. */
export function openMysqlPool(port: number): mysql.Pool {
  return mysql.createPool({
    host: "127.0.0.1",
    port,
    user: "root",
    database: "test",
    connectionLimit: 12,
    connectTimeout: 1_000,
  });
}
