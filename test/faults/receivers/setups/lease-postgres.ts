import { postgresStore } from "identity-gateway-webhooks/postgres";
import { HANDLES_ANYWAY } from "../flawed-store.js";
import { hastyStore } from "../hasty-store.js";
import { withLeases } from "../lease-receiver.js";
import { openPool } from "../postgres-pool.js";

export const makeReceiver = withLeases((config) => {
  const { flaw } = config;
  const pool = openPool(config);
  const store = postgresStore({ pool });
  return flaw === undefined || flaw === HANDLES_ANYWAY ? store : hastyStore(flaw, pool, store);
});
