import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { within } from "../../../src/common/timers.js";
import type { ClaimResult } from "../../../src/index.js";
import type { MaybePromise } from "../../../src/common/promises.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import { CLUSTER_KINDS, portsOf } from "../../support/redis/redis-clients.js";
import { startRedisCluster } from "../../support/redis/redis-cluster.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startedForAll } from "../../support/started-for-all.js";

/** Bounds a call as a receiver does: the clients hold a call that they can no longer send. */
function bounded<T>(call: MaybePromise<T>): Promise<T> {
  return within(5_500, "the store", Promise.resolve(call));
}

const stateOf = ({ state }: ClaimResult): string => state;

const TIMES = { leaseMs: 600_000, retentionMs: 259_200_000 };

describeRedis("the Redis store on a Cluster", () => {
  const cluster = startedForAll(startRedisCluster);

  describe.each(CLUSTER_KINDS)("through $name", ({ open }) => {
    it("a Redis store goes on with the remaining nodes of a Cluster, and with all once they are back", async () => {
      const { client, close } = await open(portsOf(cluster()));
      const store = redisStore({ client, keyPrefix: `${randomUUID()}:` });
      const ids = Array.from({ length: 30 }, () => randomUUID());
      const claim = (id: string, owner: string) => bounded(store.claim(id, owner, TIMES));
      const claimAll = async (owner: string) => {
        const claims = ids.map((id) => claim(id, owner).then(stateOf, () => "failed"));
        return new Set(await Promise.all(claims));
      };
      try {
        expect(await claimAll("a")).toEqual(new Set(["claimed"]));
        await cluster().nodes[0]?.kill();
        expect(await claimAll("b")).toEqual(new Set(["in_flight", "failed"]));

        for (const node of cluster().nodes) await node.kill();
        const message = "the Redis client is not connected: is the server up?";
        await expect.poll(() => claim("k", "a").catch(String)).toContain(message);
        const startedAt = performance.now();
        await expect(claim("k", "a")).rejects.toThrow(message);
        // A first connection would be waited for, for 2 s.
        expect(performance.now() - startedAt).toBeLessThan(1_500);

        for (const node of cluster().nodes) await node.start();
        while ((await claimAll("c")).has("failed")) await wait(100);
        expect(await claimAll("d")).toEqual(new Set(["in_flight"]));
      } finally {
        await close();
      }
    });
  });
});
