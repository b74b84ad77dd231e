import { expect, test } from "vitest";
import { sqlSchema, sqlTransactions, type SqlDialect } from "../../src/stores/sql/index.js";
import { statementsOf } from "../../src/stores/sql/dialects.js";
import { thrownBy } from "../support/thrown.js";

const DIALECTS: readonly SqlDialect[] = ["postgres", "mysql", "sqlite"];
const GOOD = {
  dialect: "postgres",
  transaction: () => Promise.resolve(),
  query: () => Promise.resolve([]),
  connections: 10,
} as const;

test.each<[string, object, string, string]>([
  ["an unknown dialect", { dialect: "oracle" }, "invalid_option", "dialect must be postgres"],
  ["no transaction", { transaction: undefined }, "invalid_option", "transaction must be"],
  ["no query", { query: "SELECT 1" }, "invalid_option", "query must be a function"],
  ["no connections", { connections: undefined }, "invalid_option", "connections must be"],
  ["half a connection", { connections: 0.5 }, "invalid_option", "connections must be"],
  ["a table that is no name", { table: "a b" }, "invalid_option", "table must be"],
  ["a misspelt option", { conections: 2 }, "unknown_option", "conections is no option"],
  [
    "connections of SQLite",
    { dialect: "sqlite", connections: 2 },
    "invalid_option",
    "leave connections out",
  ],
])("sqlTransactions refuses %s", (_, change, code, message) => {
  const error = thrownBy(() => sqlTransactions({ ...GOOD, ...change }));
  expect(error).toMatchObject({ code, message: expect.stringContaining(message) as string });
});

test.each([
  ["postgres", 10, 9],
  ["mysql", 1, 1],
  ["sqlite", undefined, 1],
] as const)(
  "sqlTransactions on %s with %j connections runs %i at once",
  (dialect, connections, places) => {
    const { maxConcurrentDeliveries } = sqlTransactions({ ...GOOD, dialect, connections });
    expect(maxConcurrentDeliveries).toBe(places);
  },
);

test.each(DIALECTS)(
  "no statement on %s has a mark of a parameter, which ORMs would take for theirs",
  (dialect) => {
    const { insert, look, take, complete } = statementsOf(dialect, undefined);
    const keys = ["7e57da7a-0000-8000-8000-000000000000", `record#${"a".repeat(64)}`] as const;
    const texts = [
      ...keys.flatMap((key) => [insert(key, "o", 1.5), look(key, "o"), take(key, "o", 1)]),
      complete(keys, "o", 86_400_000),
    ];
    for (const text of texts) expect(text).not.toMatch(/[?$@\\]|(?<!:):(?![:])[a-z]/i);
  },
);

test.each(DIALECTS)("sqlSchema of %s names the table and can be run again", (dialect) => {
  expect(sqlSchema(dialect, "own_table")).toMatch(/CREATE TABLE IF NOT EXISTS ["`]own_table["`]/);
});

test("sqlSchema refuses an unknown dialect", () => {
  const error = thrownBy(() => sqlSchema("postgresql" as SqlDialect));
  expect(error).toMatchObject({ code: "invalid_option" });
});
