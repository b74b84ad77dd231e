import { Redis } from "ioredis";
import { createClient } from "redis";
import type * as redis from "identity-gateway-webhooks/redis";
import { LEASE_MS, newOwner, RETENTION_MS, type Contenders } from "./contender.js";

/** `redisStore` through ioredis beside a claim with a lease and its completion. */
export const throughIoredis: Contenders = {
  async ours(load, { port, database }) {
    const { redisStore } = await load<typeof redis>("redis");
    return {
      store: redisStore({ client: new Redis(port, "127.0.0.1", { db: Number(database) }) }),
    };
  },
  byHand({ port, database }) {
    const client = new Redis(port, "127.0.0.1", { db: Number(database) });
    return Promise.resolve(async (id) => {
      const key = `seen:${id}`;
      const claimed = await client.set(key, newOwner(), "PX", LEASE_MS, "NX");
      return claimed === "OK" ? () => client.set(key, "done", "PX", RETENTION_MS) : undefined;
    });
  },
};

/** The same through node-redis. */
export const throughNodeRedis: Contenders = {
  async ours(load, { port, database }) {
    const { redisStore } = await load<typeof redis>("redis");
    const url = `redis://127.0.0.1:${port}/${database}`;
    const client = createClient({ url });
    // Its server may end first, and an event without a listener ends the process.
    client.on("error", () => undefined);
    return { store: redisStore({ client: await client.connect() }) };
  },
  async byHand({ port, database }) {
    const client = await createClient({ url: `redis://127.0.0.1:${port}/${database}` }).connect();
    const lease = { condition: "NX", expiration: { type: "PX", value: LEASE_MS } } as const;
    const done = { expiration: { type: "PX", value: RETENTION_MS } } as const;
    return async (id) => {
      const key = `seen:${id}`;
      const claimed = await client.set(key, newOwner(), lease);
      return claimed === "OK" ? () => client.set(key, "done", done) : undefined;
    };
  },
};
