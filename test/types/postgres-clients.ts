// Compiled, never run: what the PostgreSQL stores take for a pool, and what a handler is given of it.
import { createWebhookReceiver, type DeliveryStore } from "identity-gateway-webhooks";
import {
  postgresSchema,
  postgresStore,
  postgresTransactions,
  type PostgresClient,
  type PostgresClientOf,
  type PostgresPool,
  type PostgresTransactions,
} from "identity-gateway-webhooks/postgres";
import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import type { Client, PoolClient } from "pg";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function proves<_T extends true>(): void {
  // The type argument is the assertion.
}

const pool = new pg.Pool();
declare const client: Client;

// A real pool is taken for both, and a single client for the store that needs no transaction.
const store: DeliveryStore = postgresStore({ pool, table: "webhooks.deliveries" });
postgresStore({ pool: client, table: undefined });
const transactions = postgresTransactions({ pool });
proves<Equal<typeof transactions, PostgresTransactions<PoolClient>>>();
proves<Equal<PostgresClientOf<pg.Pool>, PoolClient>>();
const ddl: string = postgresSchema("webhooks.deliveries");
const purged: Promise<number> = transactions.purge({ batchRows: 1_000 });
void transactions.migrate();

// A handler is given the client of that very pool.
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
      "*": (_event, { tx }) => {
        proves<Equal<typeof tx, PoolClient>>();
      },
    },
  },
});
createWebhookReceiver({
  secret: "s",
  store: postgresStore({ pool }),
  handlers: {
    // @ts-expect-error: without a transactional store there is no transaction
    new_alarm: (_alarm, { tx }) => {
      proves<Equal<typeof tx, undefined>>();
    },
  },
});

// The same for a pool that is not of pg: with promises alone, and a client with more to it.
interface OtherClient extends PostgresClient {
  readonly region: string;
}
interface OtherPool extends PostgresPool {
  connect(): Promise<OtherClient>;
}
declare const otherPool: OtherPool;
proves<Equal<PostgresClientOf<OtherPool>, OtherClient>>();
void postgresTransactions({ pool: otherPool }).process(
  "k",
  async (tx) => {
    proves<Equal<typeof tx, OtherClient>>();
    await tx.query(tx.region);
  },
  { retentionMs: 1_000 },
);

// @ts-expect-error: a client lends no clients
postgresTransactions({ pool: client });
// @ts-expect-error: without a pool
postgresStore({});
// @ts-expect-error: a connection string is no pool
postgresStore({ pool: "postgres://localhost" });
// @ts-expect-error: a pool of another driver
postgresStore({ pool: { query: () => Promise.resolve([[], []]) } });
// @ts-expect-error: a misspelt option
postgresStore({ pool, tabel: "deliveries" });
// @ts-expect-error: a table is named by a text
postgresTransactions({ pool, table: ["webhooks", "deliveries"] });
// @ts-expect-error: the retention belongs to the completion
void transactions.process("k", () => Promise.resolve());

export { ddl, purged, store };
