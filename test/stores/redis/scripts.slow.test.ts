import { createHash, randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { MaybePromise } from "../../../src/common/promises.js";
import { within } from "../../../src/common/timers.js";
import type { ClaimResult } from "../../../src/index.js";
import { EVICTION_POLICY } from "../../../src/stores/redis/eviction-check.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import {
  CLAIM,
  COMPLETE,
  RELEASE,
  RENEW,
  redisKey,
} from "../../../src/stores/redis/redis-scripts.js";
import { CLUSTER_KINDS, STANDALONE_KINDS, portsOf } from "../../support/redis/redis-clients.js";
import { startRedisCluster } from "../../support/redis/redis-cluster.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisWithAdmin } from "../../support/redis/redis-server.js";
import { startedForAll } from "../../support/started-for-all.js";

const SCRIPTS = { CLAIM, COMPLETE, EVICTION_POLICY, RELEASE, RENEW };
const RETENTION_MS = 259_200_000;
const TIMES = { leaseMs: 30_000, retentionMs: RETENTION_MS };
const LONG = { ...TIMES, leaseMs: 600_000 };

describeRedis("the scripts of the Redis store", () => {
  const server = startedForAll(startRedisWithAdmin);
  let admin: Redis;

  beforeEach(async () => {
    ({ admin } = server());
    await admin.flushall();
  });

  it.each(Object.entries(SCRIPTS))(
    "the hash in the source of %s is the one that the server computes",
    async (_, script) => {
      expect(await admin.script("LOAD", script.lua)).toBe(script.sha1);
      expect(createHash("sha1").update(script.lua).digest("hex")).toBe(script.sha1);
    },
  );

  describe.each(STANDALONE_KINDS)("through $name", ({ open }) => {
    it("after SCRIPT FLUSH the Redis scripts are sent in full once and work on", async () => {
      const { client, close } = await open(portsOf(server()));
      const store = redisStore({ client });
      const evals = async () =>
        Number(/cmdstat_eval:calls=(\d+)/.exec(await admin.info("commandstats"))?.[1] ?? 0);
      try {
        expect(await store.claim("k", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
        expect(await store.renew("k", "a", { leaseMs: 30_000 })).toBe(true);
        await admin.script("FLUSH");
        const before = await evals();
        expect(await store.renew("k", "a", { leaseMs: 30_000 })).toBe(true);
        expect(await store.renew("k", "b", { leaseMs: 30_000 })).toBe(false);
        expect(await store.claim("k", "b", TIMES)).toMatchObject({ state: "in_flight" });
        await store.complete("k", "a", { retentionMs: RETENTION_MS });
        expect(await store.claim("k", "b", TIMES)).toEqual({ state: "completed" });
        expect(await evals()).toBe(before + 3);
      } finally {
        await close();
      }
    });
  });

  it("a claim rejects a value that another program wrote, and nothing changes it", async () => {
    const store = redisStore({ client: admin, keyPrefix: "" });
    await admin.set(redisKey("", "text"), "of another program");
    await admin.hset(redisKey("", "hash"), "a", "b");
    await expect(store.claim("text", "a", TIMES)).rejects.toThrow("set keyPrefix");
    await expect(store.claim("hash", "a", TIMES)).rejects.toThrow("WRONGTYPE");
    expect(await store.renew("text", "of", { leaseMs: 1_000 })).toBe(false);
    await store.release("text", "of another program");
    expect(await admin.get(redisKey("", "text"))).toBe("of another program");
  });
});

/** Bounds a call as a receiver does: the clients hold a call that they can no longer send. */
function bounded<T>(call: MaybePromise<T>): Promise<T> {
  return within(5_500, "the store", Promise.resolve(call));
}

const stateOf = ({ state }: ClaimResult): string => state;

describeRedis("the Redis store on a Cluster", () => {
  const cluster = startedForAll(startRedisCluster);

  it("the Redis scripts reach every node of a Cluster and survive SCRIPT FLUSH on all of them", async () => {
    for (const kind of CLUSTER_KINDS) {
      const { client, close } = await kind.open(portsOf(cluster()));
      onTestFinished(close);
      const store = redisStore({ client, keyPrefix: `${kind.name}:` });
      const ids = Array.from({ length: 60 }, () => randomUUID());
      for (const id of ids) await store.claim(id, "a", TIMES);
      for (const { port } of cluster().nodes) {
        const node = new Redis(port);
        expect(await node.dbsize(), kind.name).toBeGreaterThan(0);
        await node.script("FLUSH");
        node.disconnect();
      }
      for (const id of ids) await store.complete(id, "a", { retentionMs: RETENTION_MS });
      for (const id of ids) {
        expect(await store.claim(id, "b", TIMES)).toEqual({ state: "completed" });
      }
    }
  });

  describe.each(CLUSTER_KINDS)("through $name", ({ open }) => {
    it("a Redis store goes on with the remaining nodes of a Cluster, and with all once they are back", async () => {
      const { client, close } = await open(portsOf(cluster()));
      const store = redisStore({ client, keyPrefix: `${randomUUID()}:` });
      const ids = Array.from({ length: 30 }, () => randomUUID());
      const claim = (id: string, owner: string) => bounded(store.claim(id, owner, LONG));
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
