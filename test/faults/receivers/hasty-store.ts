import { setTimeout as wait } from "node:timers/promises";
import type { DeliveryStore } from "identity-gateway-webhooks";
import type pg from "pg";

const PATIENCE_MS = 700;

/**
 * A store whose claims drop the connection when a statement takes too long, without telling the server. The
 * server process keeps waiting, and the pool opens another connection.
 */
export function hastyStore(pool: pg.Pool, store: DeliveryStore): DeliveryStore {
  const look = async (): Promise<void> => {
    const client = await pool.connect();
    client.on("error", () => undefined);
    const looked = client.query("SELECT 1 FROM gateway_deliveries LIMIT 1").then(
      () => true,
      () => false,
    );
    const isDone = await Promise.race([looked, wait(PATIENCE_MS, false, { ref: false })]);
    client.release(!isDone);
    if (!isDone) throw new Error("the table is locked");
  };
  return {
    ...store,
    async claim(...claim) {
      await look();
      return store.claim(...claim);
    },
  };
}
