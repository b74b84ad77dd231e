import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, it } from "vitest";
import { redisStore } from "../../../src/stores/redis/index.js";
import { deliveryStoreContract } from "../../../kit/store-contract/delivery-store-contract.js";
import {
  CLUSTER_KINDS,
  STANDALONE_KINDS,
  moveIntoPast,
  portsOf,
  type OpenClient,
} from "../../support/redis/redis-clients.js";
import { startRedisCluster, type RedisCluster } from "../../support/redis/redis-cluster.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisServer, type RedisServer } from "../../support/redis/redis-server.js";

/** The cases wait for the server's clock, five of them at a time. */
const LEASE_MS = 500;

const OPTIONS = { leaseMs: LEASE_MS, sequences: 500 };

const needsDays = ({ id }: { id: string }) => id.endsWith("-days");

describeRedis("the Redis store keeps the DeliveryStore contract", () => {
  let server: RedisServer;
  let cluster: RedisCluster;

  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedisServer(), startRedisCluster()]);
  });
  afterAll(async () => {
    await Promise.all([server.close(), cluster.close()]);
  });

  const movable = deliveryStoreContract(() => {
    const keyPrefix = `${randomUUID()}:`;
    const [client, other] = [new Redis(server.port), new Redis(server.port)];
    return {
      store: redisStore({ client, keyPrefix }),
      otherClient: redisStore({ client: other, keyPrefix }),
      advance: (ms) => moveIntoPast(other, keyPrefix, ms),
      close() {
        client.disconnect();
        other.disconnect();
      },
    };
  }, OPTIONS);
  const movesClock = (one: { id: string }) => needsDays(one) || one.id === "sequences";
  for (const { title, run } of movable.filter(movesClock)) it(title, run);

  describe.each([...STANDALONE_KINDS, ...CLUSTER_KINDS])("through $name", (kind) => {
    let clients: OpenClient[] = [];

    beforeAll(async () => {
      const ports = portsOf(kind.cluster ? cluster : server);
      clients = await Promise.all([kind.open(ports), kind.open(ports)]);
    });
    afterAll(() => {
      for (const { close } of clients) void close();
    });

    const makeStore = () => {
      // Each case has keys of its own, so that cases can run concurrently.
      const keyPrefix = `${randomUUID()}:`;
      const [store, otherClient] = clients.map(({ client }) => redisStore({ client, keyPrefix }));
      if (store === undefined) throw new Error("no client is open");
      return { store, otherClient };
    };
    const cases = deliveryStoreContract(makeStore, OPTIONS).filter((one) => !needsDays(one));
    // It keeps the processor busy for seconds, in which timed cases would come too late.
    const isBusy = ({ id }: { id: string }) => id === "keys-many";
    for (const { title, run } of cases.filter((one) => !isBusy(one))) it.concurrent(title, run);
    for (const { title, run } of cases.filter(isBusy)) it(title, run);
  });
});
