import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "redis";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { redisStore, type RedisClient } from "../../../src/stores/redis/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { startBlackHoleProxy, type BlackHoleProxy } from "../../support/black-hole-proxy.js";
import { delivery } from "../../support/deliveries.js";
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
