import mysql from "mysql2/promise";
import { mysqlStore } from "identity-gateway-webhooks/mysql";

export async function openStore(address, table) {
  const pool = mysql.createPool({ ...address, user: "root", database: "test" });
  const store = mysqlStore({ pool, table });
  await store.migrate();
  return store;
}
