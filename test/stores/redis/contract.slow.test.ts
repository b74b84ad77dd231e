import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { redisStore } from "../../../src/stores/redis/index.js";
import { startRedisHttpFront } from "../../support/redis/http-front.js";
import {
  CLUSTER_KINDS,
  STANDALONE_KINDS,
  moveIntoPast,
  openUpstash,
  portsOf,
  type OpenClient,
} from "../../support/redis/redis-clients.js";
import { startRedisCluster } from "../../support/redis/redis-cluster.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisWithAdmin } from "../../support/redis/redis-server.js";
import { startedForAll } from "../../support/started-for-all.js";
import { testStoreContract, testStoreInTime } from "../../support/stores/test-store.js";

/** The cases wait for the server's clock. */
const OPTIONS = { leaseMs: 500, sequences: 500 };

describeRedis("the Redis store keeps the DeliveryStore contract", () => {
  const server = startedForAll(startRedisWithAdmin);
  const front = startedForAll(() => startRedisHttpFront(server().url));
  const cluster = startedForAll(startRedisCluster);

  describe.each([...STANDALONE_KINDS, ...CLUSTER_KINDS])("through $name", (kind) => {
    let clients: readonly [OpenClient, OpenClient];

    beforeAll(async () => {
      const ports = portsOf(kind.cluster ? cluster() : server());
      clients = await Promise.all([kind.open(ports), kind.open(ports)]);
    });
    afterAll(() => {
      for (const { close } of clients) void close();
    });

    const makePlace = () => {
      const keyPrefix = `${randomUUID()}:`;
      return {
        store: redisStore({ client: clients[0].client, keyPrefix }),
        otherClient: redisStore({ client: clients[1].client, keyPrefix }),
        advance: (ms: number) => moveIntoPast(server().admin, keyPrefix, ms),
      };
    };
    if (!kind.cluster) testStoreContract(makePlace, { ...OPTIONS, abilities: ["forgets"] });
    else testStoreInTime(() => ({ ...makePlace(), advance: undefined }), OPTIONS);
  });

  describe.each([
    ["with the defaults of @upstash/redis", {}],
    ["without automatic pipelines", { enableAutoPipelining: false }],
    ["without base64", { responseEncoding: false }],
    ["without automaticDeserialization", { automaticDeserialization: false }],
  ])("over HTTP, %s", (title, options) => {
    const makeStore = async () => {
      const keyPrefix = `${randomUUID()}:`;
      const [client, other] = [
        await openUpstash(front(), options),
        await openUpstash(front(), options),
      ];
      return {
        store: redisStore({ client, keyPrefix }),
        otherClient: redisStore({ client: other, keyPrefix }),
      };
    };
    testStoreInTime(makeStore, { ...OPTIONS, isShort: !title.includes("defaults") });
  });
});
