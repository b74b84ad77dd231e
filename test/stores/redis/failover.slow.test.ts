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

const TIMES = { leaseMs: 60_000, retentionMs: 259_200_000 };
const LONG = { ...TIMES, leaseMs: 600_000 };
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
      return await store.claim(key, "b", LONG);
    } catch {
      await wait(50);
    }
  }
}

describeRedis("a Redis replica that becomes the master", () => {
  /** A master and its replica, which have the same data. */
  async function replicated() {
    const master = await newServer({ "repl-diskless-sync-delay": "0" });
    const replica = await newServer({ replicaof: `127.0.0.1 ${master.port}` });
    const [masterClient, replicaClient] = [
      connectIoredis(master.port),
      connectIoredis(replica.port),
    ];
    await expect.poll(() => replicaClient.info("replication")).toContain("master_link_status:up");
    return { master, masterClient, replicaClient };
  }

  it("a promoted Redis replica knows all that was replicated; the rest is handled again", async () => {
    const { master, masterClient, replicaClient } = await replicated();
    const [before, after] = [masterClient, replicaClient].map((client) => redisStore({ client }));
    if (before === undefined || after === undefined) throw new Error("two stores are made");
    await before.claim("completed", "a", TIMES);
    await before.complete("completed", "a", TIMES);
    await before.claim("claimed", "a", { ...TIMES, leaseMs: 1_000 });
    expect(await masterClient.wait(1, 0)).toBe(1);
    // A replica knows completed ids but accepts no claims: until its promotion the answer is 503.
    expect(await after.claim("completed", "b", TIMES)).toEqual({ state: "completed" });
    await expect(after.claim("late", "b", TIMES)).rejects.toThrow(/^READONLY /);

    // The replication stops, and the master goes on for a while before it is killed.
    await replicaClient.replicaof("127.0.0.1", 1);
    await before.complete("claimed", "a", TIMES);
    await before.claim("late", "a", TIMES);
    await before.complete("late", "a", TIMES);
    await master.kill();
    await replicaClient.replicaof("NO", "ONE");

    expect(await after.claim("completed", "b", TIMES)).toEqual({ state: "completed" });
    // Handled again as a takeover, once the lease that was replicated has ended.
    await expect
      .poll(() => after.claim("claimed", "b", TIMES))
      .toEqual({ state: "claimed", takeover: true });
    // Handled again as a first time: nothing of it was replicated.
    expect(await after.claim("late", "b", TIMES)).toEqual({ state: "claimed", takeover: false });
  });

  it("a promoted Redis replica accepts the completion of a run whose lease it does not know", async () => {
    const { master, masterClient, replicaClient } = await replicated();
    await replicaClient.replicaof("127.0.0.1", 1);
    await redisStore({ client: masterClient }).claim("k", "a", TIMES);
    await master.kill();
    await replicaClient.replicaof("NO", "ONE");

    const after = redisStore({ client: replicaClient });
    expect(await after.renew("k", "a", { leaseMs: 60_000 })).toBe(false);
    await after.complete("k", "a", TIMES);
    expect(await after.claim("k", "b", TIMES)).toEqual({ state: "completed" });
  });

  it("a Redis store follows a sentinel to the new master, through both libraries", async () => {
    const { master, replicaClient } = await replicated();
    const sentinels = [{ host: "127.0.0.1", port: await startSentinel(master.port) }];

    const ioredis = new Redis({ sentinels, name: NAME }).on("error", () => undefined);
    const nodeRedis = createSentinel({ name: NAME, sentinelRootNodes: sentinels });
    await nodeRedis.on("error", () => undefined).connect();
    onTestFinished(() => {
      ioredis.disconnect();
      return nodeRedis.destroy();
    });
    const [one, two] = [redisStore({ client: ioredis }), redisStore({ client: nodeRedis })];

    expect(await one.claim("handled", "a", LONG)).toMatchObject({ state: "claimed" });
    expect(await two.claim("handled", "b", LONG)).toMatchObject({ state: "in_flight" });
    await two.complete("handled", "a", LONG);
    const copy = redisStore({ client: replicaClient, logger: false });
    await expect.poll(() => copy.claim("handled", "b", LONG)).toEqual({ state: "completed" });

    await master.kill();
    expect(await claimWhenBack(one, "handled")).toEqual({ state: "completed" });
    expect(await claimWhenBack(two, "handled")).toEqual({ state: "completed" });
    expect(await one.claim("new", "a", LONG)).toEqual({ state: "claimed", takeover: false });
    expect(await two.claim("new", "b", LONG)).toMatchObject({ state: "in_flight" });
  });
});
