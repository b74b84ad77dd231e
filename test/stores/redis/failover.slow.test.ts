import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { Redis } from "ioredis";
import { createClient, createSentinel } from "redis";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { type RedisClient, redisStore } from "../../../src/stores/redis/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { type BlackHoleProxy, startBlackHoleProxy } from "../../support/black-hole-proxy.js";
import { delivery } from "../../support/deliveries.js";
import { freePort } from "../../support/free-port.js";
import { readMarkdown } from "../../support/package/markdown.js";
import { connectIoredis, describeRedis, newServer } from "../../support/redis/redis-describe.js";
import type { RedisServer } from "../../support/redis/redis-server.js";

const DOCS = readMarkdown("docs/stores/redis.md");
const HEALED = { interval: 200 };

interface WatchModule {
  readonly watch: (client: unknown) => void;
}

function isWatchModule(found: unknown): found is WatchModule {
  return Object.keys(Object(found) as object).includes("watch");
}

/** The function `watch` from docs/stores/redis.md. */
async function watchOfDocs(): Promise<WatchModule["watch"]> {
  const folder = mkdtempSync(join(tmpdir(), "watch-"));
  const file = join(folder, "watch.mjs");
  writeFileSync(file, DOCS.snippet("js", "export function watch"));
  const found: unknown = await import(pathToFileURL(file).href);
  rmSync(folder, { recursive: true });
  if (!isWatchModule(found)) throw new Error("docs/stores/redis.md exports no watch");
  return found.watch;
}

/** A client of each library, set up as docs/stores/redis.md says. */
const SET_UP: readonly (readonly [string, (port: number) => Promise<RedisClient>])[] = [
  [
    "node-redis",
    async (port) => {
      const client = createClient({ url: `redis://127.0.0.1:${port}` });
      client.on("error", () => undefined);
      await client.connect();
      (await watchOfDocs())(client);
      onTestFinished(() => {
        client.destroy();
      });
      return client;
    },
  ],
  [
    "ioredis",
    (port) => {
      expect(DOCS.text).toContain("`socketTimeout: 5_000`");
      expect(DOCS.text).toContain(
        '`reconnectOnError: (error) => (error.message.includes("READONLY") ? 2 : false)`',
      );
      const client = connectIoredis(port, {
        socketTimeout: 5_000,
        reconnectOnError: (error) => (error.message.includes("READONLY") ? 2 : false),
      });
      return Promise.resolve(client);
    },
  ],
];

describe.each(SET_UP)("through %s, set up as docs/stores/redis.md says,", (_name, open) => {
  describeRedis("a receiver on a dead connection", () => {
    let server: RedisServer;
    let proxy: BlackHoleProxy;
    let handled: string[];
    let outcomeOf: (id: string) => Promise<string>;

    beforeEach(async () => {
      server = await newServer({ "repl-diskless-sync-delay": "0" });
      proxy = await startBlackHoleProxy(server.port);
      onTestFinished(proxy.close);
      handled = [];
      const receiver = alarmReceiver(({ id }) => handled.push(id), {
        store: redisStore({ client: await open(proxy.port), logger: false }),
        dependencyTimeoutMs: 500,
        leaseMs: 2_000,
      });
      outcomeOf = async (id) => (await receiver.receive(await delivery({ id }))).outcome;
      await expect.poll(() => outcomeOf("before")).toBe("handled");
    });

    it("a receiver recovers from a connection that the network swallows", async () => {
      proxy.swallow();
      expect(await outcomeOf("during")).toBe("store_unavailable");
      await expect.poll(() => outcomeOf("during"), HEALED).toBe("handled");
      expect(await outcomeOf("before")).toBe("duplicate");
      expect(handled).toEqual(["before", "during"]);
    });

    it("a receiver recovers after its master was demoted and its name leads to another one", async () => {
      const other = await newServer({ replicaof: `127.0.0.1 ${server.port}` });
      const [demoted, promoted] = [server, other].map(({ port }) => connectIoredis(port));
      await expect.poll(() => promoted?.info("replication")).toContain("master_link_status:up");
      proxy.leadTo(other.port);
      await promoted?.replicaof("NO", "ONE");
      await demoted?.replicaof("127.0.0.1", other.port);
      await expect.poll(() => outcomeOf("after"), HEALED).toBe("handled");
      expect(await outcomeOf("before")).toBe("duplicate");
      expect(handled).toEqual(["before", "after"]);
    });
  });
});

const TIMES = { leaseMs: 600_000, retentionMs: 259_200_000 };
const NAME = "webhooks";

/** Starts a sentinel that decides alone after half a second. */
async function startSentinel(masterPort: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "sentinel-"));
  const file = join(folder, "sentinel.conf");
  const port = await freePort();
  const lines = [
    `port ${port}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 1`,
    `sentinel down-after-milliseconds ${NAME} 500`,
    `sentinel failover-timeout ${NAME} 2000`,
  ];
  writeFileSync(file, lines.join("\n"));
  const child = spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
    rmSync(folder, { recursive: true });
  });
  const admin = connectIoredis(port);
  await expect
    .poll(async () => String(await admin.call("SENTINEL", "REPLICAS", NAME)))
    .toContain("master-link-status,ok");
  return port;
}

/** Claims until a server accepts it. */
async function claimWhenBack(store: DeliveryStore, key: string) {
  for (;;) {
    try {
      return await store.claim(key, "b", TIMES);
    } catch {
      await wait(50);
    }
  }
}

describeRedis("the Redis store behind a sentinel", () => {
  it("a Redis store follows a sentinel to the new master, through both libraries", async () => {
    const master = await newServer({ "repl-diskless-sync-delay": "0" });
    const replica = await newServer({ replicaof: `127.0.0.1 ${master.port}` });
    const sentinels = [{ host: "127.0.0.1", port: await startSentinel(master.port) }];

    const ioredis = new Redis({ sentinels, name: NAME }).on("error", () => undefined);
    const nodeRedis = createSentinel({ name: NAME, sentinelRootNodes: sentinels });
    await nodeRedis.on("error", () => undefined).connect();
    onTestFinished(() => {
      ioredis.disconnect();
      return nodeRedis.destroy();
    });
    const [one, two] = [redisStore({ client: ioredis }), redisStore({ client: nodeRedis })];

    expect(await one.claim("handled", "a", TIMES)).toMatchObject({ state: "claimed" });
    expect(await two.claim("handled", "b", TIMES)).toMatchObject({ state: "in_flight" });
    await two.complete("handled", "a", TIMES);
    const copy = redisStore({ client: connectIoredis(replica.port), logger: false });
    await expect.poll(() => copy.claim("handled", "b", TIMES)).toEqual({ state: "completed" });

    await master.kill();
    expect(await claimWhenBack(one, "handled")).toEqual({ state: "completed" });
    expect(await claimWhenBack(two, "handled")).toEqual({ state: "completed" });
    expect(await one.claim("new", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    expect(await two.claim("new", "b", TIMES)).toMatchObject({ state: "in_flight" });
  });
});
