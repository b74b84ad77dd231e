import ts from "typescript";
import { expect, it } from "vitest";
import { sampleAlarm } from "../../../kit/index.js";
import { describePostgres } from "../../support/postgres/postgres-describe.js";
import { postgresEngine } from "../../support/postgres/postgres-engine.js";
import { readMarkdown } from "../../support/package/markdown.js";
import { databaseOf } from "../../support/stores/sql-engine.js";

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

describePostgres("text that PostgreSQL refuses", () => {
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

  it("storable and storableJson of the documents make text that PostgreSQL takes", async () => {
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
