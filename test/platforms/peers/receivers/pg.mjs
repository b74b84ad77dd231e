import pg from "pg";
import { postgresStore } from "identity-gateway-webhooks/postgres";

export async function openStore({ url }, table) {
  const store = postgresStore({ pool: new pg.Pool({ connectionString: url }), table });
  await store.migrate();
  return store;
}
