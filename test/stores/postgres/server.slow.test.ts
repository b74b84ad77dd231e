import type pg from "pg";
import ts from "typescript";
import { expect, it } from "vitest";
import { sampleAlarm } from "../../../kit/index.js";
import { postgresStore, postgresTransactions } from "../../../src/stores/postgres/index.js";
import { createCollector, linesWith } from "../../support/collector.js";
import { delivery } from "../../support/deliveries.js";
import { readMarkdown } from "../../support/package/markdown.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { startPostgres } from "../../support/postgres/postgres-server.js";
import { startedForAll } from "../../support/started-for-all.js";
import { expectProcessed, createEffects, databaseOf } from "../../support/stores/sql-engine.js";
import { TIMES, expectToProcess, expectToWork, verbsOf } from "../../support/stores/store-cases.js";
import { transactionalReceiver } from "../../support/transactional/transactional-receiver.js";

const CHECK = "client_connection_check_interval";

postgresEngine.describe("a handler on postgresTransactions", () => {
  const started = startedForAll(async () => {
    const server = await startPostgres();
    const pool = server.pool();
    await postgresStore({ pool }).migrate();
    return { server, pool, close: server.close };
  });

  it.each([
    ["never uses tx is warned of once", false],
    ["writes through tx is not warned of", true],
  ])("a handler on postgresTransactions that %s", async (title, usesTx) => {
    const { pool } = started();
    const { options, lines, reports } = createCollector();
    const receiver = transactionalReceiver(
      postgresTransactions({ pool }),
      async (context) => {
        await (usesTx ? context.tx : pool).query("SELECT 1");
      },
      options,
    );
    for (const id of ["a", "b"])
      await receiver.receive(await delivery({ id: `${id}-${String(usesTx)}` }));
    expect(
      reports.map(({ outcome }) => outcome),
      title,
    ).toEqual(["handled", "handled"]);
    expect(linesWith(lines, "finished without context.tx")).toHaveLength(usesTx ? 0 : 1);
  });
});

postgresEngine.describe("a server with synchronous_commit off", () => {
  const started = startedForAll(async () => {
    const server = await startPostgres({ synchronous_commit: "off", wal_writer_delay: "10s" });
    const pool = server.pool();
    await postgresStore({ pool }).migrate();
    return { server, pool, close: server.close };
  });

  /** After it, only what was in the log on disk is there. */
  async function crash(): Promise<void> {
    const { server } = started();
    await server.stop("crash");
    await server.start();
  }

  it("postgresTransactions: a processed delivery survives a crash with synchronous_commit off", async () => {
    const { pool } = started();
    const effects = await createEffects(postgresEngine, pool);
    await pool.query("CHECKPOINT");
    const store = postgresTransactions({ pool });
    const keys = ["as it is", "turned off"];
    for (const key of keys) {
      const work = async (tx: pg.PoolClient) => {
        if (key === "turned off") await tx.query("SET LOCAL synchronous_commit TO off");
        await effects.write(tx, key);
      };
      await expectProcessed(store, key, work);
    }
    await crash();
    for (const key of keys) {
      expect(await effects.of(key)).toBe(1);
      expect(await effects.remembered(key)).toBe(1);
    }
  });

  it("postgresStore: a completion survives a crash with synchronous_commit off", async () => {
    const { pool } = started();
    const store = postgresStore({ pool });
    await pool.query("CHECKPOINT");
    await store.claim("completed", "a", TIMES);
    await store.complete("completed", "a", TIMES);
    await crash();
    await verbsOf(store).completed("completed", "b");
  });

  it("a stricter synchronous_commit of the connection stays as it is", async () => {
    const strict = started().server.pool({ max: 1, options: "-c synchronous_commit=remote_apply" });
    await postgresStore({ pool: strict }).complete("strict", "a", { retentionMs: 1_000 });
    await postgresTransactions({ pool: strict }).process(
      "strict 2",
      () => Promise.resolve(),
      TIMES,
    );
    const { rows } = await strict.query("SHOW synchronous_commit");
    expect(rows).toEqual([{ synchronous_commit: "remote_apply" }]);
  });
});

/** Makes a pool's server look like one before PostgreSQL 14, which does not have the setting. */
function beforePostgres14(pool: pg.Pool): pg.Pool {
  return pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((text: unknown, ...rest: unknown[]) =>
      query(
        typeof text === "string" ? text.replaceAll(CHECK, `no_${CHECK}`) : text,
        ...rest,
      )) as typeof client.query;
  });
}

postgresEngine.describe("PostgreSQL before 14", () => {
  const db = databaseOf(postgresEngine);

  it("both stores work on a server that notices no closed connection", async () => {
    await expectToWork(postgresStore({ pool: beforePostgres14(db.server.pool()) }));
    await expectToProcess(postgresTransactions({ pool: beforePostgres14(db.server.pool()) }));
  });
});

/** The functions that docs/handlers.md shows. */
async function documented() {
  const snippet = readMarkdown("docs/handlers.md").snippet("ts", "const storable =");
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const code = ts.transpile(`${snippet}\nexport { storable };`, options);
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    storable: (text: string) => string;
    storableJson: (record: object) => string;
  };
}

postgresEngine.describe("text that PostgreSQL refuses", () => {
  const db = databaseOf(postgresEngine);

  it.each([
    ["text", "a\0b", "22021"],
    ["jsonb", JSON.stringify({ text: "a\0b" }), "22P05"],
    ["jsonb", JSON.stringify({ text: "\ud83d" }), "22P02"],
    ["jsonb", '{"text":"\\u0000"}', "22P05"],
  ])(
    "a column of the type %s refuses %j with %s, as the documents say",
    async (type, value, code) => {
      await expect(db.pool.query(`SELECT $1::${type}`, [value])).rejects.toMatchObject({ code });
    },
  );

  it("storable and storableJson make text that PostgreSQL takes", async () => {
    const { storable, storableJson } = await documented();
    const text = "a\0b \ud83d \udd14 🔔";
    const payload = JSON.stringify({ nested: text });
    const alarm = sampleAlarm({ text, payload });
    const { rows } = await db.pool.query<{ text: string; record: object; payload: object }>(
      "SELECT $1::text AS text, $2::jsonb AS record, $3::jsonb AS payload",
      [storable(text), storableJson(alarm), storableJson(JSON.parse(payload) as object)],
    );
    const taken = "a\ufffdb \ufffd \ufffd 🔔";
    expect(rows).toMatchObject([
      { text: taken, record: { text: taken, payload }, payload: { nested: taken } },
    ]);
  });
});
