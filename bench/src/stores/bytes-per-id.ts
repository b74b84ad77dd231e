import { randomUUID } from "node:crypto";
import type { DeliveryStore } from "identity-gateway-webhooks";
import type { Table } from "../report/part-result.js";
import { partsOf } from "./receivers/contender.js";
import { ROWS, type RowName } from "./rows.js";

const REMEMBERED = 100_000;
const AT_A_TIME = 50;
const RETENTION = { retentionMs: 604_800_000 };
const TIMES = { leaseMs: 30_000, ...RETENTION };

/** The engine's own count of what 100 000 handled UUIDs take, in each row that is a `DeliveryStore`. */
export async function bytesTable(rows: readonly RowName[], folder: string): Promise<Table> {
  const cells: string[][] = [];
  for (const row of rows) {
    const bytes = await bytesPerId(row, folder);
    if (bytes !== undefined) cells.push([row, bytes.toFixed(0)]);
  }
  return {
    title: "Durable stores: bytes per remembered id",
    columns: ["store", "bytes"],
    rows: cells,
  };
}

async function bytesPerId(row: RowName, folder: string): Promise<number | undefined> {
  const engine = await (await ROWS[row].start())(1);
  try {
    const database = engine.databaseOf(0);
    const place = { port: engine.port ?? 0, database, folder: engine.folder };
    const { store } = await (await ROWS[row].contenders()).ours(partsOf(folder), place);
    if (store === undefined || "process" in store) return undefined;
    const before = await engine.bytes(database);
    await Promise.all(Array.from({ length: AT_A_TIME }, () => remember(store)));
    return ((await engine.bytes(database)) - before) / REMEMBERED;
  } finally {
    await engine.close();
  }
}

async function remember(store: DeliveryStore): Promise<void> {
  for (let done = 0; done < REMEMBERED / AT_A_TIME; done++) {
    const id = randomUUID();
    await store.claim(id, "owner", TIMES);
    await store.complete(id, "owner", RETENTION);
  }
}
