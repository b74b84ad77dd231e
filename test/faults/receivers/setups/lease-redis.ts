import { redisStore } from "identity-gateway-webhooks/redis";
import { flawedStore } from "../flawed-store.js";
import { withLeases } from "../lease-receiver.js";
import { openRedis } from "../redis-client.js";

export const makeReceiver = withLeases(({ port, flaw }) => {
  const client = openRedis(port);
  const store = redisStore({ client });
  return flaw === undefined ? store : flawedStore(flaw, store, client);
});
