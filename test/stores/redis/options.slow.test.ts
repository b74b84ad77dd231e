import { Cluster, Redis } from "ioredis";
import { createClient, createClientPool, createCluster, RESP_TYPES } from "redis";
import { expect, it, onTestFinished } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import { redisStore, type RedisStoreOptions } from "../../../src/stores/redis/index.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisServer } from "../../support/redis/redis-server.js";
import { startedForAll } from "../../support/started-for-all.js";
import { expectToWork, verbsOf } from "../../support/stores/store-cases.js";

const client = createClient();

const commands = { eval: () => undefined, evalSha: () => undefined, evalsha: () => undefined };
it.each<[string, unknown]>([
  ["nothing", undefined],
  ["a URL", "redis://127.0.0.1"],
  ["an empty object", {}],
  ["a pool of node-redis", createClientPool()],
  ["a legacy client of node-redis", createClient().legacy()],
  ["a transaction of node-redis", createClient().multi()],
  ["a pipeline of ioredis", new Redis({ lazyConnect: true }).pipeline()],
  [
    "another client with evalsha and a connection",
    { eval: commands.eval, evalsha: commands.evalsha, connect: commands.eval },
  ],
  ["a client without eval", { evalSha: commands.evalSha, isReady: true }],
  [
    "an object that looks like both libraries",
    { ...commands, connect: commands.eval, isReady: true, status: "ready" },
  ],
])("redisStore refuses %s as its client", (_, given) => {
  const options = { client: given } as RedisStoreOptions;
  expect(() => redisStore(options)).toThrow(ConfigurationError);
  expect(() => redisStore(options)).toThrow("client must be a client of node-redis");
});

it.each<[message: string, options: unknown]>([
  ["keyPrefix must be a string", { client, keyPrefix: 1 }],
  ["logger must have a method warn", { client, logger: {} }],
])("redisStore refuses its options: %s", (message, options) => {
  expect(() => redisStore(options as RedisStoreOptions)).toThrow(ConfigurationError);
  expect(() => redisStore(options as RedisStoreOptions)).toThrow(message);
});

it("redisStore accepts a client that is not connected yet", () => {
  const rootNodes = [{ url: "redis://127.0.0.1:1" }];
  redisStore({ client });
  redisStore({ client: createCluster({ rootNodes }) });
  redisStore({ client: new Redis({ lazyConnect: true }) });
  redisStore({ client: new Cluster([{ port: 1 }], { lazyConnect: true }) });
});

describeRedis("the clients of redisStore", () => {
  const server = startedForAll(startRedisServer);

  const ioredis = (options: Parameters<Redis["duplicate"]>[0]) => {
    const made = new Redis({ port: server().port, lazyConnect: true }).duplicate(options);
    onTestFinished(() => {
      made.disconnect();
    });
    return made;
  };
  const nodeRedis = async (RESP: 2 | 3) => {
    const made = await createClient({ url: server().url, RESP }).connect();
    onTestFinished(() => {
      made.destroy();
    });
    return made;
  };

  it.each<[string, () => RedisStoreOptions["client"] | Promise<RedisStoreOptions["client"]>]>([
    ["of ioredis that returns numbers as strings", () => ioredis({ stringNumbers: true })],
    ["of ioredis with a keyPrefix of its own", () => ioredis({ keyPrefix: "app:" })],
    ["of ioredis with automatic pipelines", () => ioredis({ enableAutoPipelining: true })],
    ["of ioredis without an offline queue", () => ioredis({ enableOfflineQueue: false })],
    ["of node-redis that speaks RESP 2", () => nodeRedis(2)],
    ["of node-redis that speaks RESP 3", () => nodeRedis(3)],
    [
      "of node-redis that returns numbers as strings",
      async () => (await nodeRedis(3)).withTypeMapping({ [RESP_TYPES.NUMBER]: String }),
    ],
    [
      "of node-redis that returns strings as bytes",
      async () => (await nodeRedis(3)).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }),
    ],
  ])("redisStore works with a client %s", async (name, open) => {
    const warnings: string[] = [];
    const logger = { warn: (message: string) => warnings.push(message) };
    const store = redisStore({ client: await open(), keyPrefix: `${name}:`, logger });
    await expectToWork(store);
    expect(warnings).toEqual([]);
  });

  it("redisStore rejects a reply to a script that is no integer", async () => {
    const reply = () => Promise.resolve("QUEUED");
    const queueing = { isOpen: true, isReady: true, evalSha: reply, eval: reply };
    const store = redisStore({ client: queueing, logger: false });
    await expect(verbsOf(store).claim("k", "a")).rejects.toThrow("did not return an integer");
  });
});
