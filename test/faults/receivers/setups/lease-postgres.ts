import { setTimeout as wait } from "node:timers/promises";
import type { DeliveryStore } from "identity-gateway-webhooks";
import { postgresStore } from "identity-gateway-webhooks/postgres";
import type pg from "pg";
import type { Flaw } from "../../plan/flawed-receivers.js";
import { HANDLES_ANYWAY } from "../flawed-store.js";
import { withLeases } from "../lease-receiver.js";
import { openPool } from "../postgres-pool.js";

const PATIENCE_MS = 700;
const LISTENS_AFTER_MS = 100;

/**
 * A store whose claims look at the table first, with the flaw: they drop the connection when the look takes too
 * long, without telling the server, whose process keeps waiting while the pool opens another connection; or they
 * listen for errors of the connection only after they have waited.
 */
function hastyStore(flaw: Flaw, pool: pg.Pool, store: DeliveryStore): DeliveryStore {
  const look = async () => {
    const client = await pool.connect();
    if (flaw === "listens for errors after it has waited") await wait(LISTENS_AFTER_MS);
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

export const makeReceiver = withLeases((config) => {
  const { flaw } = config;
  const pool = openPool(config);
  const store = postgresStore({ pool });
  return flaw === undefined || flaw === HANDLES_ANYWAY ? store : hastyStore(flaw, pool, store);
});
