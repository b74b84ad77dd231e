// A process that a test kills in its handler: writes an effect, prints `written`, and never ends.
// node --import tsx mysql-killed-handler.ts <port> <key>
import mysql from "mysql2/promise";
import { mysqlTransactions } from "../../../src/stores/mysql/index.js";

const [port, key = ""] = process.argv.slice(2);
const pool = mysql.createPool({
  host: "127.0.0.1",
  port: Number(port),
  user: "root",
  database: "test",
});
await mysqlTransactions({ pool }).process(
  key,
  async (tx) => {
    await tx.query("INSERT INTO effects (name) VALUES (?)", [key]);
    process.stdout.write("written\n");
    await new Promise(() => {
      setInterval(() => undefined, 60_000);
    });
  },
  { retentionMs: 3_600_000 },
);
