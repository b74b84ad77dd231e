import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Redis } from "ioredis";
import { createSentinel } from "redis";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type RedisClient, redisStore } from "../../../src/stores/redis/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { type BlackHoleProxy, startBlackHoleProxy } from "../../support/black-hole-proxy.js";
import { delivery } from "../../support/deliveries.js";
import { readMarkdown } from "../../support/package/markdown.js";
import {
  claimWhenBack,
  connectIoredis,
  connectNodeRedis,
  describeRedis,
  newServer,
} from "../../support/redis/redis-describe.js";
import type { RedisServer } from "../../support/redis/redis-server.js";
import { startServer } from "../../support/server-process.js";
import { verbsOf } from "../../support/stores/store-cases.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const folder = temporaryFolder();

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
  const file = folder.write("watch.mjs", DOCS.snippet("js", "export function watch"));
  const found: unknown = await import(pathToFileURL(file).href);
  if (!isWatchModule(found)) throw new Error("docs/stores/redis.md exports no watch");
  return found.watch;
}

/** A client of each library, set up as docs/stores/redis.md says. */
const SET_UP: readonly (readonly [string, (port: number) => Promise<RedisClient>])[] = [
  [
    "node-redis",
    async (port) => {
      const client = connectNodeRedis(port);
      await once(client, "ready");
      (await watchOfDocs())(client);
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

    it("a receiver recovers after its name leads to another master", async () => {
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

const NAME = "webhooks";

/** Starts a sentinel that decides alone after half a second. */
async function startSentinel(masterPort: number): Promise<number> {
  const lines = [
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 1`,
    `sentinel down-after-milliseconds ${NAME} 500`,
    `sentinel failover-timeout ${NAME} 2000`,
  ];
  const { port, close } = await startServer({
    name: "sentinel",
    command: "redis-server",
    args: (own, folder) => [join(folder, "own.conf"), "--sentinel", "--port", String(own)],
    prepare: (folder) => writeFileSync(join(folder, "own.conf"), lines.join("\n")),
    answers: () => Promise.resolve(true),
  });
  onTestFinished(close);
  const admin = connectIoredis(port);
  await expect
    .poll(async () => String(await admin.call("SENTINEL", "REPLICAS", NAME)))
    .toContain("master-link-status,ok");
  return port;
}

describeRedis("the Redis store behind a sentinel", () => {
  it("a Redis store follows a sentinel, through both libraries", async () => {
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

    const [calls, otherCalls] = [verbsOf(one), verbsOf(two)];
    await calls.claimed("handled", "a");
    await otherCalls.inFlight("handled", "b");
    await otherCalls.complete("handled", "a");
    const copy = verbsOf(redisStore({ client: connectIoredis(replica.port), logger: false }));
    await expect.poll(() => copy.claim("handled", "b")).toEqual({ state: "completed" });

    await master.kill();
    for (const store of [one, two]) {
      expect(await claimWhenBack(store, "handled", "b")).toEqual({ state: "completed" });
    }
    await calls.claimed("new", "a");
    await otherCalls.inFlight("new", "b");
  });
});
