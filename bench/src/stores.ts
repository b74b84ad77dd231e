import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { ratio, renderTable } from "./report/markdown.js";
import { measureRounds, medianOf, ratioOf, type Case } from "./rounds.js";
import { RETENTION_MS, type Engine } from "./stores/engine.js";
import { throughMysql2 } from "./stores/mysql-engine.js";
import { throughPg } from "./stores/postgres-engine.js";
import { throughIoredis, throughNodeRedis } from "./stores/redis-engines.js";
import { throughBetterSqlite3 } from "./stores/sqlite-engine.js";

const BATCH = 2_000;
const ROUNDS = 11;
const WARM_UP_ROUNDS = 2;
const REMEMBERED = 100_000;
const TIMES = { leaseMs: 30_000, retentionMs: RETENTION_MS };

/** Calls `work` with `count` new ids, `atATime` of them in parallel. */
async function withNewIds(
  count: number,
  atATime: number,
  work: (id: string) => boolean | PromiseLike<boolean>,
): Promise<number> {
  let left = count;
  let good = 0;
  const workOn = async (): Promise<void> => {
    while (left-- > 0) if (await work(randomUUID())) good += 1;
  };
  await Promise.all(Array.from({ length: atATime }, workOn));
  return good;
}

const claimed = async ({ store }: Engine, id: string): Promise<boolean> =>
  (await store.claim(id, "owner", TIMES)).state === "claimed";

const handled = async (engine: Engine, id: string): Promise<boolean> => {
  const isNew = await claimed(engine, id);
  await engine.store.complete(id, "owner", { retentionMs: RETENTION_MS });
  return isNew;
};

function casesOf(engine: Engine): Case[] {
  const caseOf = (name: string, work: (id: string) => boolean | PromiseLike<boolean>): Case => ({
    name,
    batch: BATCH,
    prepare: () => undefined,
    run: () => withNewIds(BATCH, engine.atATime, work),
  });
  return [
    caseOf("raw", engine.rawWrite),
    caseOf("claim", (id) => claimed(engine, id)),
    caseOf("claim + completion", (id) => handled(engine, id)),
  ];
}

async function bytesPerId(engine: Engine): Promise<number> {
  await engine.empty();
  const before = await engine.bytes();
  await withNewIds(REMEMBERED, engine.atATime, (id) => handled(engine, id));
  return ((await engine.bytes()) - before) / REMEMBERED;
}

async function rowOf(open: () => Engine | Promise<Engine>): Promise<string[]> {
  const engine = await open();
  try {
    const samples = await measureRounds(casesOf(engine), {
      rounds: ROUNDS,
      warmUp: WARM_UP_ROUNDS,
    });
    const perSecond = (name: string): string =>
      (Math.round(1e7 / medianOf(samples, name)) * 100).toLocaleString("en").replaceAll(",", " ");
    const ofRaw = (name: string): string =>
      `${perSecond(name)} (${ratio(1 / ratioOf(samples, name, "raw"))})`;
    return [
      engine.name,
      engine.raw,
      perSecond("raw"),
      ofRaw("claim"),
      ofRaw("claim + completion"),
      (await bytesPerId(engine)).toFixed(0),
    ];
  } finally {
    await engine.close();
  }
}

const rows: string[][] = [];
for (const open of [
  throughNodeRedis,
  throughIoredis,
  throughPg,
  throughMysql2,
  throughBetterSqlite3,
]) {
  rows.push(await rowOf(open));
}
const table = renderTable({
  title: "Stores: operations in a second (÷ the engine's raw write, through the same client)",
  columns: ["engine", "raw write", "raw", "claims", "claims with completion", "bytes an id"],
  rows,
});
await writeFile(new URL("../results/stores.md", import.meta.url), table);
process.stdout.write(table);
