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
import { connectIoredis, describeRedis, newServer } from "../../support/redis/redis-describe.js";
import { freePort } from "../../support/free-port.js";

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
