import { randomUUID } from "node:crypto";
import type { DeliveryStore } from "identity-gateway-webhooks";
import type { Table } from "../report/part-result.js";
import { median } from "../statistics.js";
import { partsOf } from "./receivers/contender.js";
import { ROWS, type RowName } from "./rows.js";

/** How many ids the store's bytes are counted over. */
const COUNTED = 100_000;
/** How many ids a store remembers when its deliveries are timed, or up to 14 000 more. */
const SIZES = [10_000, 1_000_000, 10_000_000];
/** Before they are timed. */
const WARM = 2_000;
const ROUNDS = 3;
const TIMED = 4_000;
const AT_A_TIME = 50;
const RETENTION = { retentionMs: 604_800_000 };
const TIMES = { leaseMs: 30_000, ...RETENTION };

/**
 * What remembered ids cost in each row that is a `DeliveryStore`: the engine's own count of what 100 000 handled UUIDs
 * take, and how long a claim and a completion take beside more and more of them, 50 at a time, as the median of 3 rounds.
 */
export async function rememberedTable(rows: readonly RowName[], folder: string): Promise<Table> {
  const cells: string[][] = [];
  for (const row of rows) {
    const { bytes, times } = (await measure(row, folder)) ?? {};
    if (bytes === undefined || times === undefined) continue;
    const cell = [row, bytes.toFixed(0), ...times.map((ms) => (ms * 1_000).toFixed(0))];
    cells.push(cell);
    process.stderr.write(`measured: ${cell.join("; ")}\n`);
  }
  return {
    title: "Durable stores: bytes of a remembered id, and µs of a delivery beside so many of them",
    columns: ["store", "bytes", ...SIZES.map((size) => size.toExponential(0).replace("+", ""))],
    rows: cells,
  };
}

async function measure(row: RowName, folder: string) {
  const engine = await (await ROWS[row].start())(2);
  const storeOf = async (database: string) => {
    const place = { port: engine.port ?? 0, database, folder: engine.folder };
    const { store } = await (await ROWS[row].contenders()).ours(partsOf(folder), place);
    if (store === undefined || "process" in store) return undefined;
    // Makes the table.
    await handle(store, 1);
    return store;
  };
  try {
    const [counted, timed] = [engine.databaseOf(0), engine.databaseOf(1)];
    const first = await storeOf(counted);
    if (first === undefined) return undefined;
    const before = await engine.bytes(counted);
    await handle(first, COUNTED);
    const bytes = ((await engine.bytes(counted)) - before) / COUNTED;

    // What was counted has also warmed the code up.
    const second = await storeOf(timed);
    if (second === undefined) return undefined;
    const times: number[] = [];
    let remembered = 0;
    for (const size of SIZES) {
      await engine.remember(timed, size - remembered);
      remembered = size;
      await handle(second, WARM);
      const rounds: number[] = [];
      while (rounds.length < ROUNDS) rounds.push(await handle(second, TIMED));
      times.push(median(rounds));
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
