import type { Redis } from "ioredis";
import { expect, it } from "vitest";
import { redisStore } from "../../../src/stores/redis/index.js";
import { connectIoredis, describeRedis, newServer } from "../../support/redis/redis-describe.js";

const TIMES = { leaseMs: 60_000, retentionMs: 259_200_000 };

async function linked(replica: Redis): Promise<void> {
  await expect.poll(() => replica.info("replication")).toContain("master_link_status:up");
}

describeRedis("a Redis replica that becomes the master", () => {
  it("a promoted Redis replica knows all that was replicated; the rest is handled again", async () => {
    const master = await newServer({ "repl-diskless-sync-delay": "0" });
    const replica = await newServer({ replicaof: `127.0.0.1 ${master.port}` });
    const masterClient = connectIoredis(master.port);
    const replicaClient = connectIoredis(replica.port);
    const [before, after] = [masterClient, replicaClient].map((client) => redisStore({ client }));
    if (before === undefined || after === undefined) throw new Error("two stores are made");
    await linked(replicaClient);

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
    const master = await newServer({ "repl-diskless-sync-delay": "0" });
    const replica = await newServer({ replicaof: `127.0.0.1 ${master.port}` });
    const masterClient = connectIoredis(master.port);
    const replicaClient = connectIoredis(replica.port);
    await linked(replicaClient);
    await replicaClient.replicaof("127.0.0.1", 1);
    await redisStore({ client: masterClient }).claim("k", "a", TIMES);
    await master.kill();
    await replicaClient.replicaof("NO", "ONE");

    const after = redisStore({ client: replicaClient });
    expect(await after.renew("k", "a", { leaseMs: 60_000 })).toBe(false);
    await after.complete("k", "a", TIMES);
    expect(await after.claim("k", "b", TIMES)).toEqual({ state: "completed" });
  });
});
