import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { betterSqlite3, valueOf } from "../support/sqlite-drivers.js";
import { withSqliteFolder } from "../support/sqlite-folder.js";

const TIMES = { leaseMs: 30_000, retentionMs: 604_800_000 };
const IDS = 100_000;

function report(figure: string): void {
  process.stdout.write(`sqlite: ${figure}\n`);
}

describe("sqliteStore costs", () => {
  it(`at most 80 bytes of file for each of ${IDS} remembered ids`, async () => {
    await withSqliteFolder(betterSqlite3, async ({ file, open }) => {
      const database = open();
      const store = sqliteStore({ database });
      // The rows are the same, and the disk is not waited for.
      database.exec("PRAGMA synchronous = OFF");
      for (let index = 0; index < IDS; index++) {
        const [key, owner] = [randomUUID(), `${randomUUID()}-${index}`];
        await store.claim(key, owner, TIMES);
        await store.complete(key, owner, TIMES.retentionMs);
      }
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      expect(valueOf(database, "SELECT count(*) FROM webhook_deliveries")).toBe(IDS);
      const bytes = statSync(file).size / IDS;
      report(`${bytes.toFixed(1)} bytes of file per remembered id, at ${IDS} UUIDs`);
      expect(bytes).toBeLessThan(80);
      expect(bytes).toBeGreaterThan(36);
    });
  });

  it("a claim hardly more than the engine's own insert, both on the disk", async () => {
    await withSqliteFolder(betterSqlite3, async ({ open }) => {
      const database = open();
      const store = sqliteStore({ database });
      database.exec(`CREATE TABLE raw (key TEXT PRIMARY KEY, owner TEXT, a INTEGER, b INTEGER)
        WITHOUT ROWID`);
      const insert = database.prepare("INSERT INTO raw VALUES (?, 'owner', 1, 2)");
      const rounds: { raw: number; claims: number }[] = [];
      for (let round = 0; round < 7; round++) {
        const raw = await perSecond(() => insert.run(randomUUID()));
        const claims = await perSecond(() => store.claim(randomUUID(), "owner", TIMES));
        rounds.push({ raw, claims });
      }
      const raw = median(rounds.map((round) => round.raw));
      const claims = median(rounds.map((round) => round.claims));
      const ratio = median(rounds.map((round) => round.claims / round.raw));
      report(
        `${claims.toFixed(0)} claims per second, ${raw.toFixed(0)} raw inserts, ` +
          `ratio ${ratio.toFixed(2)} (medians of ${rounds.length} rounds, synchronous=FULL)`,
      );
      expect(ratio).toBeGreaterThan(0.4);
    });
  });
});

async function perSecond(call: () => unknown): Promise<number> {
  const calls = 200;
  const startedAt = performance.now();
  for (let index = 0; index < calls; index++) await call();
  return (calls * 1_000) / (performance.now() - startedAt);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
