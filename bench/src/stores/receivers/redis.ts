import { Redis } from "ioredis";
import { createClient } from "redis";
import type * as redis from "identity-gateway-webhooks/redis";
import { RETENTION_MS, type Contenders } from "./contender.js";

/** `redisStore` through ioredis beside one `SET NX PX`. */
export const throughIoredis: Contenders = {
  async ours(load, { port, database }) {
    const { redisStore } = await load<typeof redis>("redis");
    return {
      store: redisStore({ client: new Redis(port, "127.0.0.1", { db: Number(database) }) }),
    };
  },
  byHand({ port, database }) {
    const client = new Redis(port, "127.0.0.1", { db: Number(database) });
    return Promise.resolve(
      async (id) => (await client.set(`seen:${id}`, "1", "PX", RETENTION_MS, "NX")) === "OK",
    );
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
    const options = { condition: "NX", expiration: { type: "PX", value: RETENTION_MS } } as const;
    return async (id) => (await client.set(`seen:${id}`, "1", options)) === "OK";
  },
};
