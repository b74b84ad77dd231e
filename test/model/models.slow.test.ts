import { expect, it, onTestFinished } from "vitest";
import { postgresStore, postgresTransactions } from "../../src/stores/postgres/index.js";
import { redisStore } from "../../src/stores/redis/index.js";
import { sqliteStore, sqliteTransactions } from "../../src/stores/sqlite/index.js";
import { isInFull } from "../support/extent.js";
import { describeService } from "../support/describe-service.js";
import { postgresEngine } from "../support/postgres/postgres-engine.js";
import { moveIntoPast } from "../support/redis/redis-clients.js";
import { connectIoredis, describeRedis, newServer } from "../support/redis/redis-describe.js";
import { libsql } from "../support/sqlite/drivers.js";
import { withSqliteFolder } from "../support/sqlite/folder.js";
import { databaseOf } from "../support/stores/sql-engine.js";
import { MODELS, convict, inSteps, playOn, wayTo, type Played } from "./models.js";
import { STORE_LEASE_MS, installHosts } from "./replay.js";
import { missingSpin, randomWalks, verify, type ModelName, type Step } from "./spin.js";
import { receivers, transactionalReceivers, workers } from "./subjects.js";

/** `MODEL_WALKS=2000` plays more walks, and a third fault is explored. */
const WALKS = Number(process.env["MODEL_WALKS"] ?? 200);
const FAULTS = WALKS > 200 ? 3 : 2;
/** Walks on a database or server, which take most of the time. In memory all are played. */
const STORE_WALKS = isInFull ? WALKS : 60;
const SIDE_BY_SIDE = 50;
const SEED = 33;

/** The walks at which a model and the code disagree. Walks on a server are played side by side. */
async function differences(
  model: ModelName,
  walks: readonly (readonly Step[])[],
  makePlayed: (key: string) => Played,
  sideBySide = 1,
): Promise<string[]> {
  const found: string[] = [];
  const left = [...walks.entries()];
  const playAll = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const key = `${model}-walk-${String(next[0])}`;
      const played = makePlayed(key);
      const difference = await playOn(model, key, played).play(next[1]);
      await played[0].end?.();
      if (difference !== undefined && found.length < 3) found.push(`${key}: ${difference}`);
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, playAll));
  return found;
}

const MODEL_NAMES = Object.keys(MODELS) as ModelName[];
const FLAWS = MODEL_NAMES.flatMap((model) =>
  MODELS[model].flaws.map((flaw) => ({ model, ...flaw })),
);

const LEASED = [
  { model: "lease", subject: receivers, prefix: "" },
  { model: "job", subject: workers, prefix: "job#" },
] as const;
/** Every step of each model. */
const STEPS: Readonly<Record<ModelName, string>> = {
  lease:
    "ack ack_lost apply arrive end fail freeze ghost hang jump kill lose ok refuse refuse_late renew renew_lost retry retry_lost send stray thaw wait",
  transaction: "apply arrive end fail kill lose ok refuse send wait",
  record: "apply arrive end fail kill ok send",
  job: "again apply arrive end fail kill lapse lose ok refuse send",
};

describeService("the models", missingSpin, () => {
  it.each([
    ["lease", 2],
    ["lease", 3],
    ["transaction", 3],
    ["record", 3],
    ["job", 2],
  ] as const)(
    "no state of the model %s with %i processes breaks a property",
    async (model, count) => {
      const only = model === "lease" ? { PROCESSES: count } : {};
      const { states, trail } = await verify(model, { FAULTS, ...only });
      expect(trail).toBeUndefined();
      expect(states).toBeGreaterThan(20_000);
    },
  );

  it.each(MODEL_NAMES)(
    "in the model %s a sender that goes on is acknowledged at last",
    async (model) => {
      expect((await verify(model, { FAULTS: 1, LIVE: 1 })).trail).toBeUndefined();
    },
  );

  it.each(FLAWS)(
    "flaw $bug of the model $model breaks $property, and so does code that $twin",
    async ({ model, ...flaw }) => {
      onTestFinished(installHosts());
      const { way, broken } = await wayTo(model, flaw);
      expect(broken).toBe(flaw.property);
      expect(way.length).toBeGreaterThan(5);
      const { flawed, right } = await convict(model, flaw, way);
      expect(flawed).toBeUndefined();
      expect(right).toContain("the model says");
    },
  );

  it.each(MODEL_NAMES)(
    "random walks of the model %s take every step, and the code in memory agrees",
    async (model) => {
      onTestFinished(installHosts());
      const walks = await randomWalks(model, WALKS, SEED);
      expect(walks).toHaveLength(WALKS);
      const steps = new Set(walks.flat().map(({ name }) => name));
      expect([...steps].sort().join(" ")).toBe(STEPS[model]);
      expect(await differences(model, walks, MODELS[model].right)).toEqual([]);
    },
  );

  it.each(LEASED)(
    "the code of the model $model agrees on SQLite",
    async ({ model, subject, prefix }) => {
      onTestFinished(installHosts());
      const walks = await randomWalks(model, STORE_WALKS, SEED + 1);
      await withSqliteFolder(libsql, async (folder) => {
        const rows = folder.open();
        const database = folder.open();
        const store = sqliteStore({ database });
        database.exec("PRAGMA synchronous = OFF");
        const move = `UPDATE gateway_deliveries SET lease_ends_at = lease_ends_at - ${String(STORE_LEASE_MS)}`;
        const endLease = (key: string) => {
          rows.exec(`${move} WHERE key = '${prefix}${key}'`);
        };
        expect(await differences(model, walks, () => [{ store, endLease }, subject()])).toEqual([]);
      });
    },
  );

  it("the code of the model transaction agrees on SQLite", async () => {
    onTestFinished(installHosts());
    const walks = await randomWalks("transaction", STORE_WALKS, SEED + 1);
    await withSqliteFolder(libsql, async (folder) => {
      const database = folder.open();
      database.exec("PRAGMA synchronous = OFF");
      const store = sqliteTransactions({ database });
      const makePlayed = () => [inSteps(store), transactionalReceivers()] as const;
      expect(await differences("transaction", walks, makePlayed)).toEqual([]);
    });
  });

  describeRedis("on Redis", () => {
    it.each(LEASED)("the code of the model $model agrees on Redis", async ({ model, subject }) => {
      const client = connectIoredis((await newServer()).port);
      onTestFinished(installHosts());
      const walks = await randomWalks(model, STORE_WALKS, SEED + 2);
      const makePlayed = (key: string) => {
        const store = redisStore({ client, keyPrefix: `${key}:` });
        const endLease = () => moveIntoPast(client, `${key}:`, STORE_LEASE_MS);
        return [{ store, endLease }, subject()] as const;
      };
      expect(await differences(model, walks, makePlayed, SIDE_BY_SIDE)).toEqual([]);
    });
  });

  postgresEngine.describe("on PostgreSQL", () => {
    const db = databaseOf(postgresEngine);

    it.each(LEASED)(
      "the code of the model $model agrees on PostgreSQL",
      async ({ model, subject, prefix }) => {
        onTestFinished(installHosts());
        const walks = await randomWalks(model, STORE_WALKS, SEED + 3);
        const store = postgresStore({ pool: db.pool });
        const move = "UPDATE gateway_deliveries SET lease_until = lease_until - interval '1 hour'";
        const endLease = (key: string) => db.pool.query(`${move} WHERE key = $1`, [prefix + key]);
        const makePlayed = () => [{ store, endLease }, subject()] as const;
        expect(await differences(model, walks, makePlayed, SIDE_BY_SIDE)).toEqual([]);
      },
    );

    it("the code of the model transaction agrees on PostgreSQL", async () => {
      onTestFinished(installHosts());
      const walks = await randomWalks("transaction", STORE_WALKS, SEED + 3);
      const store = postgresTransactions({ pool: db.pool });
      const makePlayed = () => [inSteps(store), transactionalReceivers()] as const;
      // Each walk holds up to three connections of the pool.
      expect(await differences("transaction", walks, makePlayed, 3)).toEqual([]);
    });
  });
});
