// GATEWAY_WEBHOOK_SECRET=… DATABASE_URL=postgres://… npx tsx examples/postgres-kysely.ts
// Like postgres.ts. The handler writes with Kysely in the same transaction.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createWebhookReceiver } from "identity-gateway-webhooks";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { postgresTransactions } from "identity-gateway-webhooks/postgres";
import { Kysely, PostgresDialect, type PostgresPoolClient } from "kysely";
import pg from "pg";

interface Database {
  alarms: { delivery_id: string; account_id: number; event_type: string; text: string };
}

/**
 * Kysely on the client of the transaction. Do not call its `transaction()`, which would end the store's
 * transaction. Use savepoints.
 */
function kyselyOn(tx: pg.PoolClient): Kysely<Database> {
  const client = {
    query: tx.query.bind(tx) as PostgresPoolClient["query"],
    release: () => undefined, // the store releases it
  };
  const pool = { connect: () => Promise.resolve(client), end: () => Promise.resolve() };
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}

const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  connectionTimeoutMillis: 5_000,
});
pool.on("error", ({ message }) => {
  console.error(`idle connection lost: ${message}`);
});

const store = postgresTransactions({ pool });
await store.migrate();
await pool.query(
  `CREATE TABLE IF NOT EXISTS alarms (
    delivery_id text NOT NULL, account_id bigint NOT NULL, event_type text, text text
  )`,
);

const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  store,
  handlers: {
    new_alarm: async ({ account_id, event_type, severity, text }, { id, tx }) => {
      const db = kyselyOn(tx);
      await db
        .insertInto("alarms")
        .values({ delivery_id: id, account_id, event_type, text })
        .execute();
      console.log(`${id}: ${event_type}, severity ${severity}`);
    },
  },
});

const server = createServer(nodeHandler(receiver));
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://localhost:${port}/webhooks/gateway`);
});

process.once("SIGTERM", () => {
  server.close();
  void receiver.drain().then(() => pool.end());
});
