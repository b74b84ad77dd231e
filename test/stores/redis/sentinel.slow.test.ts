import { Redis } from "ioredis";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createSentinel } from "redis";
import { expect, it, onTestFinished } from "vitest";
import type { DeliveryStore } from "../../../src/index.js";
import { redisStore } from "../../../src/stores/redis/index.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { freePort } from "../../support/free-port.js";
import { startRedisServer } from "../../support/redis/redis-server.js";

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
  const admin = new Redis(port).on("error", () => undefined);
  onTestFinished(() => {
    admin.disconnect();
  });
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
    const master = await startRedisServer({ "repl-diskless-sync-delay": "0" });
    onTestFinished(master.close);
    const replica = await startRedisServer({ replicaof: `127.0.0.1 ${master.port}` });
    onTestFinished(replica.close);
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
    const reader = new Redis(replica.port);
    onTestFinished(() => {
      reader.disconnect();
    });
    const replicated = redisStore({ client: reader, logger: false });
    await expect
      .poll(() => replicated.claim("handled", "b", TIMES))
      .toEqual({ state: "completed" });

    await master.kill();
    expect(await claimWhenBack(one, "handled")).toEqual({ state: "completed" });
    expect(await claimWhenBack(two, "handled")).toEqual({ state: "completed" });
    expect(await one.claim("new", "a", TIMES)).toEqual({ state: "claimed", takeover: false });
    expect(await two.claim("new", "b", TIMES)).toMatchObject({ state: "in_flight" });
  });
});
