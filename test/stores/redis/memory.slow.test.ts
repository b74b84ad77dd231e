import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { redisStore, type RedisClient } from "../../../src/stores/redis/index.js";
import type { NodeRedisClient, IoredisClient } from "../../../src/stores/redis/redis-connection.js";
import {
  STANDALONE_KINDS,
  portsOf,
  type ConnectedClient,
} from "../../support/redis/redis-clients.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisServer, type RedisServer } from "../../support/redis/redis-server.js";
import { verbsOf } from "../../support/stores/store-cases.js";

const TIMES = { leaseMs: 30_000, retentionMs: 604_800_000 };

const keyOf = (id: string): string => `gateway-deliveries:1:{${id}}`;

let server: RedisServer;
let admin: Redis;

async function fill(): Promise<void> {
  const used = /used_memory:(\d+)/.exec(await admin.info("memory"))?.[1];
  await admin.config("SET", "maxmemory", String(Number(used) - 100_000));
}

describe.each(STANDALONE_KINDS)("through $name", ({ open }) => {
  describeRedis("Redis at maxmemory with noeviction", () => {
    let client: ConnectedClient;
    let close: () => unknown;
    let store: DeliveryStore;

    beforeEach(async () => {
      server = await startRedisServer({ "maxmemory-policy": "noeviction" });
      admin = new Redis(server.port);
      ({ client, close } = await open(portsOf(server)));
      store = redisStore({ client });
    });
    afterEach(async () => {
      await close();
      admin.disconnect();
      await server.close();
    });

    it("Redis at maxmemory refuses new claims and lets running deliveries end", async () => {
      await store.claim("takeover", "gone", { ...TIMES, leaseMs: 1 });
      await expect
        .poll(() => store.claim("takeover", "a", TIMES))
        .toMatchObject({ takeover: true });
      for (const key of ["completed", "renewed", "released"]) await store.claim(key, "a", TIMES);
      await fill();
      await expect(store.claim("new", "b", TIMES)).rejects.toThrow(/^OOM /);
      const usage = async () => Number(await admin.memory("USAGE", keyOf("completed")));
      const before = await usage();
      await store.complete("completed", "a", TIMES);
      expect(await usage()).toBeLessThan(before);
      const { renewed, release, completed } = verbsOf(store);
      await renewed("renewed", "a", true);
      expect(await admin.pttl(keyOf("renewed"))).toBeGreaterThan(TIMES.retentionMs + 50_000);
      for (const key of ["released", "takeover"]) await release(key, "a");
      await renewed("takeover", "a", false);
      await completed("completed", "b");
      const kept = ["completed", "renewed", "takeover"].map(keyOf);
      expect((await admin.keys("*")).sort()).toEqual(kept);
    });

    it("Redis before 7 at maxmemory rejects a completion with OOM", async () => {
      await store.claim("k", "a", TIMES);
      await fill();
      // Redis before 7 reads the first line as Lua, and cannot parse it.
      const older: RedisClient = withoutScriptFlags(client);
      const olderStore = redisStore({ client: older });
      await expect(olderStore.complete("k", "a", { retentionMs: 1_000 })).rejects.toThrow(/^OOM /);
      await expect(olderStore.renew("k", "a", { leaseMs: 1_000 })).rejects.toThrow(/^OOM /);
      await olderStore.release("k", "a");
      expect(await admin.dbsize()).toBe(0);
    });
  });
});

/** Sends a script's flags as Redis 6 reads them: as a line of invalid Lua. */
function withoutScriptFlags(client: ConnectedClient): RedisClient {
  const breakFlags = (lua: string) => lua.replace(/^#!lua/, "!lua");
  if ("evalSha" in client) {
    const older: NodeRedisClient = {
      isOpen: true,
      isReady: true,
      evalSha: (sha1, input) => client.evalSha(sha1, input),
      eval: (lua, input) => client.eval(breakFlags(lua), input),
    };
    return older;
  }
  const older: IoredisClient = {
    status: "ready",
    connect: () => client.connect(),
    evalsha: (sha1, count, ...rest) => client.evalsha(sha1, count, ...rest),
    eval: (lua, count, ...rest) => client.eval(breakFlags(lua), count, ...rest),
  };
  return older;
}

describeRedis("the memory that a UUID takes in Redis", () => {
  it("a completed UUID takes less than 110 bytes, a leased one less than 200", async () => {
    server = await startRedisServer();
    const client = new Redis(server.port);
    try {
      const store = redisStore({ client });
      const id = randomUUID();
      const usage = async () => Number(await client.memory("USAGE", keyOf(id)));
      await store.claim(id, `${randomUUID()}-123456`, TIMES);
      expect(await usage()).toBeLessThan(200);
      await store.complete(id, "a", TIMES);
      expect(await usage()).toBeLessThan(110);
      expect(await client.object("ENCODING", keyOf(id))).toBe("int");
    } finally {
      client.disconnect();
      await server.close();
    }
  });
});
