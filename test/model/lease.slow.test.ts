import { expect, it } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { postgresStore } from "../../src/stores/postgres/index.js";
import { redisStore } from "../../src/stores/redis/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { describeService } from "../support/describe-service.js";
import { describePostgres } from "../support/postgres/postgres-describe.js";
import { postgresEngine } from "../support/postgres/postgres-engine.js";
import { moveIntoPast } from "../support/redis/redis-clients.js";
import { connectIoredis, describeRedis, newServer } from "../support/redis/redis-describe.js";
import { libsql } from "../support/sqlite/drivers.js";
import { withSqliteFolder } from "../support/sqlite/folder.js";
import { databaseOf } from "../support/stores/sql-engine.js";
import { naiveStore, type StoreMistake } from "../support/testing/naive-store.js";
import {
  Replay,
  STORE_LEASE_MS,
  installHosts,
  type ReceiverFlaw,
  type ReplayedStore,
} from "./replay.js";
import { missingSpin, randomWalks, verify, type Step } from "./spin.js";

/** `MODEL_WALKS=2000` plays more walks, and a third fault is explored. */
const WALKS = Number(process.env["MODEL_WALKS"] ?? 200);
const FAULTS = WALKS > 200 ? 3 : 2;
const SERVER_WALKS = 200;
const SIDE_BY_SIDE = 50;
const SEED = 33;

/** Each planted flaw: the property that it breaks, and the same flaw in a store or in a receiver. */
const FLAWS: readonly (readonly [
  bug: number,
  property: string,
  twin: { readonly store: StoreMistake } | { readonly receiver: ReceiverFlaw },
])[] = [
  [1, "no_run_after_completion", { store: "forgets the lease" }],
  [2, "acknowledged_was_handled", { store: "answers completed for what is in flight" }],
  [3, "no_claim_after_completion", { store: "undoes the completion on release" }],
  [4, "repeat_is_takeover", { store: "hides a takeover" }],
  [5, "repeat_is_takeover", { store: "forgets a takeover that is released" }],
  [6, "handled_at_last", { store: "never ends a lease" }],
  [7, "no_claim_after_completion", { store: "forgets the completion" }],
  [8, "acknowledged_was_handled", { receiver: "acknowledges" }],
  [9, "one_in_a_process", { receiver: "forgets its runs" }],
  [10, "no_run_after_completion", { receiver: "has a fixed owner" }],
];

/** A store whose clock is set. */
function clocked(make: (now: () => number) => DeliveryStore): ReplayedStore {
  let ms = 1_000;
  return { store: make(() => ms), endLease: () => (ms += STORE_LEASE_MS) };
}

const remembering = () => clocked((now) => memoryStore({ now }));

/** The walks at which the model and the receivers disagree. Walks on a server are played side by side. */
async function differences(
  walks: readonly (readonly Step[])[],
  makeStore: (key: string) => ReplayedStore,
  sideBySide = 1,
): Promise<string[]> {
  const found: string[] = [];
  const left = [...walks.entries()];
  const playAll = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const key = `walk-${String(next[0])}`;
      const difference = await new Replay(key, makeStore(key), 2).play(next[1]);
      if (difference !== undefined) found.push(`${key}: ${difference}`);
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, playAll));
  return found;
}

describeService("the model of claim, lease and completion", missingSpin, () => {
  it.each([2, 3] as const)("no state of %i receivers breaks a property", async (PROCESSES) => {
    const { states, trail } = await verify({ PROCESSES, FAULTS });
    expect(trail).toBeUndefined();
    expect(states).toBeGreaterThan(100_000);
  });

  it("if the sender goes on and faults end, the delivery is acknowledged", async () => {
    expect((await verify({ PROCESSES: 2, FAULTS: 1, LIVE: 1 })).trail).toBeUndefined();
  });

  it.each(FLAWS)(
    "flaw %i breaks %s in the model, and its twin in the code does the same",
    async (BUG, property, twin) => {
      installHosts();
      const isLive = property === "handled_at_last";
      const { trail = [] } = await verify({
        ...{ PROCESSES: 2, FAULTS: isLive ? 1 : 4, BUG },
        ...(isLive ? { LIVE: 1 as const } : {}),
      });
      expect(trail.find(({ name }) => name === "broken")?.result).toBe(
        isLive ? undefined : property,
      );
      const way = trail.filter(({ name }) => name !== "broken");
      expect(way.length).toBeGreaterThan(5);
      const flawed =
        "store" in twin ? clocked((now) => naiveStore(now, twin.store)) : remembering();
      const receiver = "receiver" in twin ? twin.receiver : undefined;
      expect(await new Replay("flawed", flawed, 2, receiver).play(way)).toBeUndefined();
      expect(await new Replay("right", remembering(), 2).play(way)).toContain("the model says");
    },
  );

  it("random walks take every step of the model, and receivers with the memory store agree", async () => {
    installHosts();
    const walks = await randomWalks(WALKS, SEED);
    expect(walks).toHaveLength(WALKS);
    const steps = new Set(walks.flat().map(({ name }) => name));
    expect([...steps].sort()).toEqual([
      ...["ack", "ack_lost", "apply", "arrive", "end", "fail", "freeze", "ghost", "hang", "jump"],
      ...["kill", "lose", "ok", "refuse", "refuse_late", "renew", "renew_lost", "retry"],
      ...["retry_lost", "send", "stray", "thaw", "wait"],
    ]);
    expect(await differences(walks, remembering)).toEqual([]);
  });

  it("receivers with a SQLite store agree with the model", async () => {
    installHosts();
    const walks = await randomWalks(WALKS, SEED + 1);
    await withSqliteFolder(libsql, async (folder) => {
      const rows = folder.open();
      const database = folder.open();
      const store = sqliteStore({ database });
      database.exec("PRAGMA synchronous = OFF");
      const move = `UPDATE gateway_deliveries SET lease_ends_at = lease_ends_at - ${String(STORE_LEASE_MS)}`;
      const endLease = (key: string) => {
        rows.exec(`${move} WHERE key = '${key}'`);
      };
      expect(await differences(walks, () => ({ store, endLease }))).toEqual([]);
    });
  });

  describeRedis("on Redis", () => {
    it("receivers with a Redis store agree with the model", async () => {
      const client = connectIoredis((await newServer()).port);
      installHosts();
      const walks = await randomWalks(SERVER_WALKS, SEED + 2);
      const makeStore = (key: string) => ({
        store: redisStore({ client, keyPrefix: `${key}:` }),
        endLease: () => moveIntoPast(client, `${key}:`, STORE_LEASE_MS),
      });
      expect(await differences(walks, makeStore, SIDE_BY_SIDE)).toEqual([]);
    });
  });

  describePostgres("on PostgreSQL", () => {
    const db = databaseOf(postgresEngine);

    it("receivers with a PostgreSQL store agree with the model", async () => {
      installHosts();
      const walks = await randomWalks(SERVER_WALKS, SEED + 3);
      const store = postgresStore({ pool: db.pool });
      const move = "UPDATE gateway_deliveries SET lease_until = lease_until - interval '1 hour'";
      const endLease = (key: string) => db.pool.query(`${move} WHERE key = $1`, [key]);
      expect(await differences(walks, () => ({ store, endLease }), SIDE_BY_SIDE)).toEqual([]);
    });
  });
});
