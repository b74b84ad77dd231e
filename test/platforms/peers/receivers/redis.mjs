import { createClient } from "redis";
import { redisStore } from "identity-gateway-webhooks/redis";

export async function openStore(socket) {
  const client = createClient({ socket });
  const store = redisStore({ client });
  await client.connect();
  return store;
}
