import { expect, test } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { d1Store } from "../../src/stores/cloudflare/d1-store.js";
import { dynamoStore } from "../../src/stores/dynamodb/index.js";
import { mysqlStore } from "../../src/stores/mysql/index.js";
import { postgresStore } from "../../src/stores/postgres/index.js";
import { redisStore } from "../../src/stores/redis/index.js";
import { sqliteStore } from "../../src/stores/sqlite/index.js";
import { libsql } from "../support/sqlite/drivers.js";
import { withSqliteFolder } from "../support/sqlite/folder.js";

const unused = (): never => expect.fail("the client is not used");
const client = { send: unused, evalSha: unused, eval: unused, isReady: true } as never;
const dynamo = {
  send: unused,
  getItem: unused,
  putItem: unused,
  updateItem: unused,
  deleteItem: unused,
} as never;
const pool = { getConnection: unused, query: unused } as never;
const database = { prepare: unused, batch: unused } as never;

test.each<[string, DeliveryStore, string | undefined]>([
  ["memoryStore", memoryStore(), undefined],
  ["redisStore", redisStore({ client }), "gateway-deliveries:"],
  ["redisStore with a prefix", redisStore({ client, keyPrefix: "a:" }), "a:"],
  ["postgresStore", postgresStore({ pool }), "gateway_deliveries"],
  ["postgresStore with a table", postgresStore({ pool, table: "a.b" }), "a.b"],
  ["mysqlStore", mysqlStore({ pool }), "gateway_deliveries"],
  ["mysqlStore with a table", mysqlStore({ pool, table: "b" }), "b"],
  ["dynamoStore", dynamoStore({ client: dynamo }), "gateway_deliveries"],
  ["dynamoStore with a table", dynamoStore({ client: dynamo, table: "bbb" }), "bbb"],
  ["d1Store", d1Store({ database }), "gateway_deliveries"],
  ["d1Store with a table", d1Store({ database, table: "b" }), "b"],
])("the scope of %s is its table or prefix, also in a copy of it", (_name, store, scope) => {
  const copy: DeliveryStore = { ...store };
  expect(copy.scope).toBe(scope);
});

test("the scope of sqliteStore is its table, also in a copy of it", async () => {
  await withSqliteFolder(libsql, ({ open }) => {
    for (const table of [undefined, "b"]) {
      const copy: DeliveryStore = { ...sqliteStore({ database: open(), table }) };
      expect(copy.scope).toBe(table ?? "gateway_deliveries");
    }
  });
});
