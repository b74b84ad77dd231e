import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { expect, it } from "vitest";
import { sqliteStore } from "../../../src/stores/sqlite/index.js";
import { libsql, valueOf } from "../../support/sqlite/drivers.js";
import { withSqliteFolder } from "../../support/sqlite/folder.js";

const TIMES = { leaseMs: 30_000, retentionMs: 604_800_000 };
const IDS = 100_000;

function report(figure: string): void {
  process.stdout.write(`sqlite: ${figure}\n`);
}

it(`sqliteStore takes at most 80 bytes of file for each of ${IDS} remembered ids`, async () => {
  await withSqliteFolder(libsql, async ({ file, open }) => {
    const database = open();
    const store = sqliteStore({ database });
    // Faster: the same rows, without waiting for the disk.
    database.exec("PRAGMA synchronous = OFF");
    for (let index = 0; index < IDS; index++) {
      const [key, owner] = [randomUUID(), `${randomUUID()}-${index}`];
      await store.claim(key, owner, TIMES);
      await store.complete(key, owner, TIMES);
    }
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    expect(valueOf(database, "SELECT count(*) FROM gateway_deliveries")).toBe(IDS);
    const bytes = statSync(file).size / IDS;
    report(`${bytes.toFixed(1)} bytes of file per remembered id, at ${IDS} UUIDs`);
    expect(bytes).toBeLessThan(80);
    expect(bytes).toBeGreaterThan(36);
  });
});
