import mysql, { type ResultSetHeader } from "mysql2/promise";
import type * as mysqlPart from "identity-gateway-webhooks/mysql";
import { POOL_SIZE, type Place } from "../engines/engine.js";
import { newOwner, type Contenders } from "./contender.js";

const CREATE =
  "CREATE TABLE IF NOT EXISTS seen (id varbinary(255) PRIMARY KEY, owner varchar(64) NOT NULL, lease_until datetime(3) NOT NULL, done_at datetime(3))";
const CLAIM = "INSERT IGNORE INTO seen VALUES (?, ?, now(3) + INTERVAL 60 SECOND, NULL)";
const TAKE_OVER =
  "UPDATE seen SET owner = ?, lease_until = now(3) + INTERVAL 60 SECOND WHERE id = ? AND done_at IS NULL AND lease_until < now(3)";
const COMPLETE = "UPDATE seen SET done_at = now(3) WHERE id = ? AND owner = ?";

function poolOf({ port, database }: Place): mysql.Pool {
  const connection = { host: "127.0.0.1", port, database, user: "root" };
  return mysql.createPool({ ...connection, connectionLimit: POOL_SIZE });
}

/** `mysqlStore` through mysql2 beside a claim with a lease and its completion. */
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
    const send = async (statement: string, values: string[]) =>
      (await pool.query<ResultSetHeader>(statement, values))[0].affectedRows === 1;
    return async (id) => {
      const owner = newOwner();
      const isTaken = (await send(CLAIM, [id, owner])) || (await send(TAKE_OVER, [owner, id]));
      return isTaken ? () => send(COMPLETE, [id, owner]) : undefined;
    };
  },
};
