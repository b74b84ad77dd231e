import { createHash, randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EVICTION_POLICY } from "../../../src/stores/redis/eviction-warning.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import { CLAIM, COMPLETE, RELEASE, RENEW } from "../../../src/stores/redis/redis-scripts.js";
import { CLUSTER_KINDS, STANDALONE_KINDS, portsOf } from "../../support/redis/redis-clients.js";
import { startRedisCluster } from "../../support/redis/redis-cluster.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisServer, type RedisServer } from "../../support/redis/redis-server.js";

const SCRIPTS = { CLAIM, COMPLETE, EVICTION_POLICY, RELEASE, RENEW };
const RETENTION_MS = 259_200_000;
const TIMES = { leaseMs: 30_000, retentionMs: RETENTION_MS };
const MAX_LEASE_MS = 2_147_483_647;
const CENTURY_MS = 3_155_760_000_000;

describeRedis("the scripts of the Redis store", () => {
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
    admin = new Redis(server.port);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.close();
  });
  beforeEach(async () => {
    await admin.flushall();
  });

  it.each(Object.entries(SCRIPTS))(
    "%s has the hash that the server gives it",
    async (_, script) => {
      expect(await admin.script("LOAD", script.lua)).toBe(script.sha1);
      expect(createHash("sha1").update(script.lua).digest("hex")).toBe(script.sha1);
    },
  );

  describe.each(STANDALONE_KINDS)("through $name", ({ open }) => {
    it("go on after a script flush in the middle, and are sent whole once more", async () => {
      const { client, close } = await open(portsOf(server));
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
        close();
      }
    });
  });

  describe("set the time to live of a key", () => {
    let client: Redis;
    beforeAll(() => {
      client = new Redis(server.port);
    });
    afterAll(() => {
      client.disconnect();
    });
    const near = (ms: number, to: number) => {
      // PTTL rounds the largest ones to what a double can hold.
      expect(ms).toBeLessThanOrEqual(to + 1);
      expect(ms).toBeGreaterThan(to - 5_000);
    };

    it("to the retention after the lease's end, before and after a renewal", async () => {
      const store = redisStore({ client, keyPrefix: "" });
      await store.claim("k", "a", TIMES);
      near(await admin.pttl("k"), RETENTION_MS + 30_000);
      await store.renew("k", "a", { leaseMs: 600_000 });
      near(await admin.pttl("k"), RETENTION_MS + 600_000);
      await store.claim("k", "a", TIMES);
      near(await admin.pttl("k"), RETENTION_MS + 30_000);
    });

    it("to the retention from the release of a takeover on, and not before its retention", async () => {
      const store = redisStore({ client, keyPrefix: "" });
      await store.claim("k", "gone", { leaseMs: 1, retentionMs: RETENTION_MS });
      await expect.poll(() => store.claim("k", "a", TIMES)).toMatchObject({ takeover: true });
      near(await admin.pttl("k"), RETENTION_MS + 30_000);
      await store.renew("k", "a", { leaseMs: 600_000 });
      near(await admin.pttl("k"), RETENTION_MS + 600_000);
      await store.release("k", "a");
      near(await admin.pttl("k"), RETENTION_MS);
      await store.release("k", "a");
      near(await admin.pttl("k"), RETENTION_MS);
      expect(await store.claim("k", "b", TIMES)).toEqual({ state: "claimed", takeover: true });
    });

    it("to the retention from the completion on, whatever a later one says", async () => {
      const store = redisStore({ client, keyPrefix: "" });
      await store.claim("k", "a", TIMES);
      await store.complete("k", "a", { retentionMs: 2 * RETENTION_MS });
      near(await admin.pttl("k"), 2 * RETENTION_MS);
      await store.complete("k", "b", { retentionMs: 3 * RETENTION_MS });
      near(await admin.pttl("k"), 2 * RETENTION_MS);
    });

    it("for the longest lease and the longest retention that can be configured", async () => {
      const store = redisStore({ client, keyPrefix: "" });
      const longest = { leaseMs: MAX_LEASE_MS, retentionMs: Number.MAX_SAFE_INTEGER };
      expect(await store.claim("k", "a", longest)).toMatchObject({ state: "claimed" });
      near(await admin.pttl("k"), CENTURY_MS + MAX_LEASE_MS);
      expect(await store.renew("k", "a", { leaseMs: MAX_LEASE_MS })).toBe(true);
      near(await admin.pttl("k"), CENTURY_MS + MAX_LEASE_MS);
      const copy = await store.claim("k", "b", longest);
      if (copy.state !== "in_flight") expect.fail(copy.state);
      near(copy.retryAfterMs, MAX_LEASE_MS);
      await store.complete("k", "a", { retentionMs: Number.MAX_SAFE_INTEGER });
      near(await admin.pttl("k"), CENTURY_MS);
    });

    it("so that a lease longer than the retention is not forgotten while it holds", async () => {
      const store = redisStore({ client, keyPrefix: "" });
      await store.claim("k", "a", { leaseMs: 60_000, retentionMs: 1 });
      near(await admin.pttl("k"), 60_001);
    });
  });

  it("refuse a key that something else has written, and leave it alone", async () => {
    const store = redisStore({ client: admin, keyPrefix: "" });
    await admin.set("text", "of somebody else");
    await admin.hset("hash", "a", "b");
    await expect(store.claim("text", "a", TIMES)).rejects.toThrow("set keyPrefix");
    await expect(store.claim("hash", "a", TIMES)).rejects.toThrow("WRONGTYPE");
    expect(await store.renew("text", "of", { leaseMs: 1_000 })).toBe(false);
    await store.release("text", "of somebody else");
    expect(await admin.get("text")).toBe("of somebody else");
  });

  it("keep the deliveries of two prefixes apart", async () => {
    const [one, two] = ["one:", "two:"].map((keyPrefix) =>
      redisStore({ client: admin, keyPrefix }),
    );
    await one?.claim("k", "a", TIMES);
    await one?.complete("k", "a", { retentionMs: RETENTION_MS });
    expect(await two?.claim("k", "b", TIMES)).toEqual({ state: "claimed", takeover: false });
    expect((await admin.keys("*")).sort()).toEqual(["one:k", "two:k"]);
  });
});

describeRedis("the scripts of the Redis store on a Cluster", () => {
  let closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.reverse()) await close();
    closers = [];
  });

  it("reach every node, and go on after a script flush on all of them", async () => {
    const cluster = await startRedisCluster();
    closers.push(cluster.close);
    for (const kind of CLUSTER_KINDS) {
      const { client, close } = await kind.open(portsOf(cluster));
      closers.push(close);
      const store = redisStore({ client, keyPrefix: `${kind.name}:` });
      const ids = Array.from({ length: 60 }, () => randomUUID());
      for (const id of ids) await store.claim(id, "a", TIMES);
      for (const { port } of cluster.nodes) {
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
});
