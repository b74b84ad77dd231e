import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/index.js";
import { d1Schema, d1Store, type D1Binding } from "../../../src/inbox/cloudflare/index.js";
import type { PurgeOptions } from "../../../src/stores/table-maintenance.js";
import { bundleWorker } from "../../support/cloudflare/bundle-worker.js";
import type { D1Costs } from "../../support/cloudflare/costs-worker.js";
import {
  missingMiniflare,
  startD1,
  startMiniflare,
  type TestD1,
} from "../../support/cloudflare/miniflare.js";
import { describeService } from "../../support/describe-service.js";
import { startedForAll } from "../../support/started-for-all.js";
import { TIMES, expectToWork, storeCases, verbsOf } from "../../support/stores/store-cases.js";
import { runCase } from "../../support/stores/test-store.js";

const COSTS_WORKER = new URL("../../support/cloudflare/costs-worker.ts", import.meta.url);

it("sql/d1.sql is the SQL of d1Schema()", () => {
  const file = readFileSync(new URL("../../../sql/d1.sql", import.meta.url), "utf8");
  expect(file).toBe(d1Schema());
});

describe("the options of d1Store", () => {
  const database: D1Binding = {
    prepare: () => ({ bind: () => expect.fail("nothing is run") }),
    batch: () => expect.fail("nothing is run"),
  };

  it.each([undefined, null, "DB", {}, { prepare: () => 1 }])(
    "d1Store refuses %j as its database",
    (wrong) => {
      expect(() => d1Store({ database: wrong as never })).toThrow(
        "database must be a D1 binding such as env.DB, with prepare and batch",
      );
    },
  );

  it("d1Store refuses a session of a database", () => {
    const session = { ...database, getBookmark: () => "0-1" };
    expect(() => d1Store({ database: session as never })).toThrow(
      "database must be the D1 binding itself, not a session of it",
    );
  });

  it.each(["", "1st", 'a"b', "x".repeat(65), "sqlite_x", "_cf_KV", 5])(
    "d1Store and d1Schema refuse the table name %j",
    (table) => {
      for (const make of [
        () => d1Store({ database, table } as never),
        () => d1Schema(table as never),
      ])
        expect(make).toThrow(ConfigurationError);
    },
  );
});

describeService("d1Store on workerd", missingMiniflare, () => {
  const started = startedForAll(startD1);
  let database: TestD1;

  beforeEach(async () => {
    ({ database } = started());
    await database.prepare('DROP TABLE IF EXISTS "gateway_deliveries"').run();
    await database.prepare(d1Schema()).run();
  });

  async function rows(): Promise<readonly unknown[]> {
    return (await database.prepare("SELECT * FROM gateway_deliveries ORDER BY key").all()).results;
  }

  /** The database, with `count` failures after the statements have run. */
  function losing(count: number, message: string) {
    const batches = { count: 0 };
    const lossy: D1Binding = {
      prepare: (sql) => database.prepare(sql),
      async batch(statements) {
        const results = await database.batch(statements);
        batches.count += 1;
        if (batches.count <= count) throw new Error(`D1_ERROR: ${message}`);
        return results;
      },
    };
    return { calls: verbsOf(d1Store({ database: lossy })), batches };
  }

  const makePlace = async () => {
    const table = `t_${randomUUID().replaceAll("-", "_")}`;
    await database.prepare(d1Schema(table)).run();
    const store = d1Store({ database, table });
    return {
      store,
      purge: (options?: PurgeOptions) => store.purge(options),
      async advance(ms: number) {
        const back = ["forget_at", "lease_ends_at"].map(
          (column) => `${column} = ${column} - ${ms}`,
        );
        await database.prepare(`UPDATE ${table} SET ${back.join()}`).run();
      },
    };
  };
  it.each(storeCases(makePlace, ["forgets", "purge"]))("$title", runCase);

  it("d1Store writes times as milliseconds of the database's clock", async () => {
    const before = Date.now();
    await d1Store({ database }).claim("k", "a", TIMES);
    const [row] = (await rows()) as [{ lease_ends_at: number; forget_at: number }];
    expect(Number.isInteger(row.lease_ends_at)).toBe(true);
    expect(row.lease_ends_at - TIMES.leaseMs).toBeGreaterThanOrEqual(before - 1);
    expect(row.lease_ends_at - TIMES.leaseMs).toBeLessThanOrEqual(Date.now() + 1);
    expect(row.forget_at - row.lease_ends_at).toBe(TIMES.retentionMs - TIMES.leaseMs);
  });

  it("d1Store keeps only the key and the end of retention", async () => {
    const { claimed, complete } = verbsOf(d1Store({ database }));
    await claimed("k", "a");
    await complete("k", "a");
    expect(await rows()).toMatchObject([{ key: "k", owner: null, lease_ends_at: null }]);
  });

  it("every method gives the same result if two answers are lost", async () => {
    const lost = () => losing(2, "Network connection lost.").calls;
    await lost().claimed("k", "a");
    await lost().renewed("k", "a", true);
    await lost().release("k", "a");
    expect(await rows()).toEqual([]);
    await database.prepare("INSERT INTO gateway_deliveries VALUES ('k', 'b', 1, 0, 1e15)").run();
    await lost().claimed("k", "a", true);
    await lost().complete("k", "a");
    await lost().completed("k", "c");
  });

  it.each([
    "Network connection lost.",
    "D1 DB storage caused object to be reset.",
    "D1 DB reset because its code was updated.",
    "Cannot resolve D1 DB due to transient issue on remote node.",
  ])("a method rejects with the third failure in a row: %s", async (message) => {
    const { calls, batches } = losing(9, message);
    await expect(calls.claim("k", "a")).rejects.toThrow(`D1_ERROR: ${message}`);
    expect(batches.count).toBe(3);
  });

  it.each([
    "D1 DB is overloaded. Requests queued for too long.",
    "D1 DB storage operation exceeded timeout which caused object to be reset.",
    "table gateway_deliveries has no column named owner: SQLITE_ERROR",
  ])("a method is not tried again after: %s", async (message) => {
    const { calls, batches } = losing(9, message);
    await expect(calls.complete("k", "a")).rejects.toThrow(`D1_ERROR: ${message}`);
    expect(batches.count).toBe(1);
  });

  it("a missing table rejects with the command that creates it", async () => {
    const refused = expect(verbsOf(d1Store({ database, table: "absent" })).claim("k", "a")).rejects;
    await refused.toMatchObject({ code: "missing_table" });
    await refused.toThrow("the database has no table absent");
    await refused.toThrow("wrangler d1 migrations apply <database> --remote");
  });

  it("d1Store rejects an answer that another statement gave", async () => {
    const store = d1Store({
      database: {
        prepare: (sql) => database.prepare(sql),
        batch: () => Promise.resolve([{ results: [] }, { results: [] }]),
      },
    });
    const claiming = verbsOf(store).claim("k", "a");
    await expect(claiming).rejects.toMatchObject({ code: "unexpected_result" });
  });

  it("d1Schema changes nothing in a database that has the table", async () => {
    const { complete, completed } = verbsOf(d1Store({ database }));
    await complete("k", "a");
    await database.prepare(d1Schema()).run();
    await completed("k", "a");
  });

  it("d1Store works on a table of a later layout with more columns", async () => {
    const table = "later";
    await database.prepare(d1Schema(table)).run();
    await database
      .prepare(
        `ALTER TABLE ${table} ADD COLUMN region TEXT NOT NULL DEFAULT 'eu' CONSTRAINT identity_gateway_webhooks_layout_2 CHECK (1)`,
      )
      .run();
    await expectToWork(d1Store({ database, table }));
  });

  it("a handled delivery writes two rows, a duplicate none, and an id takes 70 bytes", async () => {
    const running = await startMiniflare({
      workers: [{ script: await bundleWorker(COSTS_WORKER), d1Databases: { DB: "db" } }],
    });
    const answer = await running.dispatchFetch("http://worker/", { method: "GET" });
    const { rows, bytesPerId } = (await answer.json()) as D1Costs;
    await running.dispose();
    process.stdout.write(`D1: ${bytesPerId.toFixed(1)} bytes of file per remembered id\n`);
    expect(rows).toEqual({
      handled: { written: 2, read: 1 },
      duplicate: { written: 0, read: 1 },
      failed: { written: 2, read: 3 },
      claimed: { written: 1, read: 1 },
      inFlight: { written: 0, read: 1 },
      renewed: { written: 1, read: 2 },
    });
    expect(bytesPerId).toBeLessThan(70);
    expect(bytesPerId).toBeGreaterThan(36);
  });
});
