// Compiled, never run: which pools the PostgreSQL stores accept, and which client a handler gets.
import { createWebhookReceiver, type DeliveryStore } from "identity-gateway-webhooks";
import {
  postgresSchema,
  postgresStore,
  postgresTransactions,
  type PostgresClient,
  type PostgresPool,
  type PostgresTransactions,
} from "identity-gateway-webhooks/postgres";
import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import type { Client, PoolClient } from "pg";
import { type Equal, proves } from "./proofs.js";

const pool = new pg.Pool();
declare const client: Client;

// Both stores accept a real pool. The store without transactions also accepts a single client.
const store: DeliveryStore = postgresStore({ pool, table: "webhooks.deliveries" });
postgresStore({ pool: client, table: undefined });
const transactions = postgresTransactions({ pool });
proves<Equal<typeof transactions, PostgresTransactions<PoolClient>>>();
const ddl: string = postgresSchema("webhooks.deliveries");
const purged: Promise<number> = transactions.purge({ batchRows: 1_000 });
void transactions.migrate();
// @ts-expect-error: the option was renamed to batchRows
void transactions.purge({ batch: 1_000 });

// A handler gets a client of the pool's own type.
createWebhookReceiver({
  secret: "s",
  store: postgresTransactions({ pool }),
  handlers: {
    new_alarm: async (alarm, { tx }) => {
      proves<Equal<typeof tx, PoolClient>>();
      await tx.query("INSERT INTO alarms (account_id) VALUES ($1)", [alarm.account_id]);
      drizzle(tx);
    },
    delete_my_data_event: {
      "*": (_event, { tx }) => proves<Equal<typeof tx, PoolClient>>(),
    },
  },
});
createWebhookReceiver({
  secret: "s",
  store: postgresStore({ pool }),
  handlers: {
    // @ts-expect-error: without a transactional store there is no transaction
    new_alarm: (_alarm, { tx }) => proves<Equal<typeof tx, undefined>>(),
  },
});

// The same for a pool of another library: only promises, and a client with more members.
interface OtherClient extends PostgresClient {
  readonly region: string;
}
interface OtherPool extends PostgresPool {
  connect(): Promise<OtherClient>;
}
declare const otherPool: OtherPool;
const otherTransactions = postgresTransactions({ pool: otherPool });
proves<Equal<typeof otherTransactions, PostgresTransactions<OtherClient>>>();
void otherTransactions.process(
  "k",
  async (tx) => {
    proves<Equal<typeof tx, OtherClient>>();
    await tx.query(tx.region);
  },
  { retentionMs: 1_000 },
);

// @ts-expect-error: a client has no clients to hand out
postgresTransactions({ pool: client });
// @ts-expect-error: without a pool
postgresStore({});
// @ts-expect-error: a connection string is not a pool
postgresStore({ pool: "postgres://localhost" });
// @ts-expect-error: a pool of another driver
postgresStore({ pool: { query: () => Promise.resolve([[], []]) } });
// @ts-expect-error: a misspelt option
postgresStore({ pool, tabel: "deliveries" });
// @ts-expect-error: the name of a table is a string
postgresTransactions({ pool, table: ["webhooks", "deliveries"] });
// @ts-expect-error: the retention belongs to the completion
void transactions.process("k", () => Promise.resolve());

export { ddl, purged, store };
