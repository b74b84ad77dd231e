// A process that a test kills in its handler: writes an effect, prints `written`, and never ends.
// node --import tsx postgres-killed-handler.ts <port> <key>
import pg from "pg";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";

const [port, key = ""] = process.argv.slice(2);
const pool = new pg.Pool({
  host: "127.0.0.1",
  port: Number(port),
  user: "postgres",
  database: "postgres",
});
await postgresTransactions({ pool }).process(
  key,
  async (tx) => {
    await tx.query("INSERT INTO effects (name) VALUES ($1)", [key]);
    process.stdout.write("written\n");
    await new Promise(() => {
      setInterval(() => undefined, 60_000);
    });
  },
  { retentionMs: 3_600_000 },
);
