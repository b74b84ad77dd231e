// Compiled, never run: each client of Redis that the store supports fits it, and others do not.
import { Redis } from "ioredis";
import { createClient, createClientPool, createCluster, createSentinel, RESP_TYPES } from "redis";
import * as redis5 from "redis-5";
import { createWebhookReceiver, type DeliveryStore } from "identity-gateway-webhooks";
import {
  redisStore,
  type RedisClient,
  type RedisStoreOptions,
} from "identity-gateway-webhooks/redis";

const rootNodes = [{ url: "redis://127.0.0.1" }];
const store: DeliveryStore = redisStore({ client: createClient() });
createWebhookReceiver({ secret: "s", handlers: { new_alarm: () => undefined }, store });

redisStore({ client: await createClient({ url: "rediss://127.0.0.1" }).connect() });
redisStore({ client: createClient({ RESP: 2 }) });
redisStore({ client: createClient({ RESP: 3, disableOfflineQueue: true }) });
redisStore({ client: createClient().withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }) });
redisStore({ client: await createCluster({ rootNodes, useReplicas: true }).connect() });
redisStore({ client: createSentinel({ name: "mymaster", sentinelRootNodes: [] }) });
redisStore({ client: redis5.createClient() });
redisStore({ client: redis5.createCluster({ rootNodes }) });

const options: RedisStoreOptions = { client: new Redis(), keyPrefix: "app:", logger: console };
redisStore({ ...options, logger: false });
redisStore({ ...options, keyPrefix: undefined, logger: undefined });
redisStore({ ...options, logger: { warn: (message: string) => message.length } });

declare const either: ReturnType<typeof createClient> | Redis;
const client: RedisClient = either;
redisStore({ client });

// @ts-expect-error a pool does not say whether it is connected
redisStore({ client: createClientPool() });
// @ts-expect-error a legacy client takes callbacks
redisStore({ client: createClient().legacy() });
// @ts-expect-error a transaction is no client
redisStore({ client: createClient().multi() });
// @ts-expect-error a pipeline is no client
redisStore({ client: new Redis().pipeline() });
// @ts-expect-error the store takes a client, and no address
redisStore({ client: "redis://127.0.0.1" });
// @ts-expect-error a client stands in the options
redisStore(createClient());
// @ts-expect-error a client is needed
redisStore({ keyPrefix: "app:" });
// @ts-expect-error the prefix is a text
redisStore({ client, keyPrefix: 1 });
// @ts-expect-error a logger has the method warn
redisStore({ client, logger: { error: () => undefined } });
// @ts-expect-error prefix is misspelt
redisStore({ client, prefix: "app:" });
