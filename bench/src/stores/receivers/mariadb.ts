import mysql, { type ResultSetHeader } from "mysql2/promise";
import type * as mysqlPart from "identity-gateway-webhooks/mysql";
import { POOL_SIZE, type Place } from "../engines/engine.js";
import type { Contenders } from "./contender.js";

const CREATE =
  "CREATE TABLE IF NOT EXISTS seen (id varbinary(255) PRIMARY KEY, at timestamp NOT NULL)";
const CLAIM = "INSERT IGNORE INTO seen VALUES (?, now())";

function poolOf({ port, database }: Place): mysql.Pool {
  const connection = { host: "127.0.0.1", port, database, user: "root" };
  return mysql.createPool({ ...connection, connectionLimit: POOL_SIZE });
}

/** `mysqlStore` through mysql2 beside one `INSERT IGNORE`. */
export const throughMysql2: Contenders = {
  async ours(load, place) {
    const { mysqlStore } = await load<typeof mysqlPart>("mysql");
    const store = mysqlStore({ pool: poolOf(place) });
    await store.migrate();
    return { store };
  },
  async byHand(place) {
    const pool = poolOf(place);
    await pool.query(CREATE);
    return async (id) => {
      const [{ affectedRows }] = await pool.query<ResultSetHeader>(CLAIM, [id]);
      return affectedRows === 1;
    };
  },
};
