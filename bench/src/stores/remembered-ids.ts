import { randomUUID } from "node:crypto";
import type { DeliveryStore } from "identity-gateway-webhooks";
import type { Table } from "../report/part-result.js";
import { partsOf } from "./receivers/contender.js";
import { ROWS, type RowName } from "./rows.js";

/** How many ids the store's bytes are counted over. */
const COUNTED = 100_000;
/** How many ids a store remembers, or somewhat more, when its deliveries are timed. */
const SIZES = [COUNTED, 1_000_000, 10_000_000];
const TIMED = 20_000;
const AT_A_TIME = 50;
const RETENTION = { retentionMs: 604_800_000 };
const TIMES = { leaseMs: 30_000, ...RETENTION };

/**
 * What remembered ids cost in each row that is a `DeliveryStore`: the engine's own count of what 100 000 handled UUIDs
 * take, and how long a claim and a completion take beside more and more of them, 50 at a time.
 */
export async function rememberedTable(rows: readonly RowName[], folder: string): Promise<Table> {
  const cells: string[][] = [];
  for (const row of rows) {
    const { bytes, times } = (await measure(row, folder)) ?? {};
    if (bytes === undefined || times === undefined) continue;
    cells.push([row, bytes.toFixed(0), ...times.map((ms) => (ms * 1_000).toFixed(0))]);
    process.stderr.write(`${row}: measured\n`);
  }
  return {
    title: "Durable stores: bytes of a remembered id, and µs of a delivery beside so many of them",
    columns: ["store", "bytes", ...SIZES.map((size) => size.toExponential(0).replace("+", ""))],
    rows: cells,
  };
}

async function measure(row: RowName, folder: string) {
  const engine = await (await ROWS[row].start())(1);
  try {
    const database = engine.databaseOf(0);
    const place = { port: engine.port ?? 0, database, folder: engine.folder };
    const { store } = await (await ROWS[row].contenders()).ours(partsOf(folder), place);
    if (store === undefined || "process" in store) return undefined;
    // Makes the table.
    await handle(store, 1);
    const before = await engine.bytes(database);
    await handle(store, COUNTED);
    const bytes = ((await engine.bytes(database)) - before) / COUNTED;
    const times: number[] = [];
    let remembered = COUNTED;
    for (const size of SIZES) {
      if (size > remembered) await engine.remember(database, size - remembered);
      remembered = size;
      await handle(store, TIMED);
      times.push(await handle(store, TIMED));
    }
    return { bytes, times };
  } finally {
    await engine.close();
  }
}

/** Handles so many new ids. Resolves to the milliseconds that each took. */
async function handle(store: DeliveryStore, count: number): Promise<number> {
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const id = randomUUID();
      await store.claim(id, "owner", TIMES);
      await store.complete(id, "owner", RETENTION);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return (performance.now() - startedAt) / count;
}
