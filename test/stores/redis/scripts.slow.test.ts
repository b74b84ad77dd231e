import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { within } from "../../../src/common/timers.js";
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
import { verbsOf } from "../../support/stores/store-cases.js";

const SCRIPTS = { CLAIM, COMPLETE, EVICTION_POLICY, RELEASE, RENEW };

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
    },
  );

  describe.each(STANDALONE_KINDS)("through $name", ({ open }) => {
    it("after SCRIPT FLUSH the Redis scripts are sent in full once", async () => {
      const { client, close } = await open(portsOf(server()));
      const { claimed, renewed, inFlight, complete, completed } = verbsOf(redisStore({ client }));
      const evals = async () =>
        Number(/cmdstat_eval:calls=(\d+)/.exec(await admin.info("commandstats"))?.[1] ?? 0);
      try {
        await claimed("k", "a");
        await renewed("k", "a", true);
        await admin.script("FLUSH");
        const before = await evals();
        await renewed("k", "a", true);
        await renewed("k", "b", false);
        await inFlight("k", "b");
        await complete("k", "a");
        await completed("k", "b");
        expect(await evals()).toBe(before + 3);
      } finally {
        await close();
      }
    });
  });

  it("a claim rejects a value of another program, and nothing changes it", async () => {
    const { claim, renewed, release } = verbsOf(redisStore({ client: admin, keyPrefix: "" }));
    await admin.set(redisKey("", "text"), "of another program");
    await admin.hset(redisKey("", "hash"), "a", "b");
    await expect(claim("text", "a")).rejects.toThrow("set keyPrefix");
    await expect(claim("hash", "a")).rejects.toThrow("WRONGTYPE");
    await renewed("text", "of", false);
    await release("text", "of another program");
    expect(await admin.get(redisKey("", "text"))).toBe("of another program");
  });
});

describeRedis("the Redis store on a Cluster", () => {
  const cluster = startedForAll(startRedisCluster);

  it("the Redis scripts survive SCRIPT FLUSH on every node of a Cluster", async () => {
    for (const kind of CLUSTER_KINDS) {
      const { client, close } = await kind.open(portsOf(cluster()));
      onTestFinished(close);
      const calls = verbsOf(redisStore({ client, keyPrefix: `${kind.name}:` }));
      const ids = Array.from({ length: 60 }, () => randomUUID());
      for (const id of ids) await calls.claimed(id, "a");
      for (const { port } of cluster().nodes) {
        const node = new Redis(port);
        expect(await node.dbsize(), kind.name).toBeGreaterThan(0);
        await node.script("FLUSH");
        node.disconnect();
      }
      for (const id of ids) await calls.complete(id, "a");
      for (const id of ids) await calls.completed(id, "b");
    }
  });

  describe.each(CLUSTER_KINDS)("through $name", ({ open }) => {
    it("a Redis store goes on with the remaining nodes of a Cluster", async () => {
      const { client, close } = await open(portsOf(cluster()));
      const calls = verbsOf(redisStore({ client, keyPrefix: `${randomUUID()}:` }));
      const ids = Array.from({ length: 30 }, () => randomUUID());
      // As a receiver does: the clients hold a call that they can no longer send.
      const claim = (id: string, owner: string) =>
        within(5_500, "the store", calls.claim(id, owner));
      const claimAll = async (owner: string) => {
        const claims = await Promise.allSettled(ids.map((id) => claim(id, owner)));
        return new Set(claims.map((one) => ("value" in one ? one.value.state : "failed")));
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
