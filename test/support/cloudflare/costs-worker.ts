// A Worker that fills the table with the statements of `d1Store`, and answers with what D1 counts.
import { d1Statements, runBatch } from "../../../src/stores/cloudflare/d1-store.js";
import { d1Schema, d1Store } from "../../../src/inbox/cloudflare/index.js";
import type { TestD1 } from "./miniflare.js";

const IDS = 20_000;
const PER_BATCH = 1_000;
const TIMES = { leaseMs: 30_000, retentionMs: 604_800_000 };

/** Rows that D1 has written and read, by what was done. */
export interface D1Costs {
  readonly bytesPerId: number;
  readonly rows: Readonly<Record<string, { readonly written: number; readonly read: number }>>;
}

async function bytesPerId(database: TestD1): Promise<number> {
  const run = (...statements: readonly Parameters<typeof runBatch>[2][]) =>
    runBatch(database, "gateway_deliveries", ...statements);
  const sql = d1Statements("gateway_deliveries");
  const size = async () => (await database.prepare("SELECT 1").all()).meta.size_after;
  const before = await size();
  for (let at = 0; at < IDS; at += PER_BATCH) {
    const keys = Array.from({ length: PER_BATCH }, () => crypto.randomUUID());
    const owner = `${crypto.randomUUID()}-${at}`;
    const { leaseMs, retentionMs } = TIMES;
    await run(...keys.map((key) => [sql.claim, key, owner, leaseMs, retentionMs] as const));
    await run(...keys.map((key) => [sql.complete, key, retentionMs] as const));
  }
  return ((await size()) - before) / IDS;
}

async function rowsOf(database: TestD1): Promise<D1Costs["rows"]> {
  let [written, read] = [0, 0];
  const store = d1Store({
    database: {
      prepare: (sql) => database.prepare(sql),
      async batch(statements) {
        const results = await database.batch(statements);
        for (const { meta } of results) {
          written += meta.rows_written;
          read += meta.rows_read;
        }
        return results;
      },
    },
  });
  const during = async (work: () => Promise<unknown>) => {
    [written, read] = [0, 0];
    await work();
    return { written, read };
  };
  return {
    handled: await during(async () => {
      await store.claim("handled", "a", TIMES);
      await store.complete("handled", "a", TIMES);
    }),
    duplicate: await during(async () => store.claim("handled", "b", TIMES)),
    failed: await during(async () => {
      await store.claim("failed", "a", TIMES);
      await store.release("failed", "a");
    }),
    claimed: await during(async () => store.claim("running", "a", TIMES)),
    inFlight: await during(async () => store.claim("running", "b", TIMES)),
    renewed: await during(async () => store.renew("running", "a", TIMES)),
  };
}

export default {
  async fetch(_request: Request, { DB: database }: { readonly DB: TestD1 }): Promise<Response> {
    await database.prepare(d1Schema()).run();
    const rows = await rowsOf(database);
    const costs: D1Costs = { bytesPerId: await bytesPerId(database), rows };
    return Response.json(costs);
  },
};
