import { createRequire } from "node:module";
import { expect, it } from "vitest";
import { ConfigurationError } from "../../src/index.js";
import { createDynamoTable, dynamoStore } from "../../src/stores/dynamodb/index.js";
import { mysqlStore } from "../../src/stores/mysql/index.js";
import { postgresStore, postgresTransactions } from "../../src/stores/postgres/index.js";
import { redisStore } from "../../src/stores/redis/index.js";
import { sqliteStore, sqliteTransactions } from "../../src/stores/sqlite/index.js";

const ignore = (): void => undefined;
/** `DynamoDB` of the AWS SDK 2 has no `send`. */
const DYNAMODB_2 = Object.fromEntries(
  ["getItem", "putItem", "updateItem", "deleteItem", "createTable", "describeTable"]
    .concat(["describeTimeToLive", "updateTimeToLive"])
    .map((method) => [method, ignore]),
);
/** A client of redis 3 has no promises, and connects by itself. */
const REDIS_3 = { evalsha: ignore, eval: ignore, exec: ignore, connection_id: 1, server_info: {} };

it.each<[string, (given: never) => unknown, unknown, string]>([
  [
    "redisStore refuses a client of redis 3",
    (client) => redisStore({ client }),
    REDIS_3,
    "client is of redis 3, which does not work here. Supported: redis 5 and later, ioredis 5 and later, @upstash/redis 1.34 and later",
  ],
  [
    "dynamoStore refuses a DynamoDB of the AWS SDK 2",
    (client) => dynamoStore({ client }),
    DYNAMODB_2,
    "client is of aws-sdk 2, which does not work here. Supported: @aws-sdk/client-dynamodb 3 and later",
  ],
  [
    "postgresTransactions refuses a pool without connect",
    (pool) => postgresTransactions({ pool }),
    { query: ignore },
    "pool is of a version of pg without the method connect, which does not work here. Supported: pg 8 and later",
  ],
  [
    "sqliteStore refuses a handle without exec",
    (database) => sqliteStore({ database }),
    { prepare: ignore },
    "database is of a version of the SQLite driver without the method exec, which does not work here. Supported: better-sqlite3 11 and later, libsql 0.5 and later, node:sqlite, bun:sqlite",
  ],
  [
    "sqliteTransactions refuses a handle whose statements return promises",
    (database) => sqliteTransactions({ database }),
    { exec: ignore, prepare: () => Promise.resolve({}) },
    "database is of a SQLite driver whose prepare() returns no statement with run and get, such as libsql/promise",
  ],
])("%s and names the versions that work", (_, make, given, message) => {
  const call = () => make(given as never);
  expect(call).toThrow(ConfigurationError);
  expect(call).toThrow(expect.objectContaining({ code: "unsupported_version" }) as Error);
  expect(call).toThrow(message);
});

it("createDynamoTable refuses a DynamoDB of the AWS SDK 2", async () => {
  await expect(createDynamoTable({ client: DYNAMODB_2 as never })).rejects.toMatchObject({
    code: "unsupported_version",
  });
});

it("a store refuses an object with no method of its peer as an invalid option, of no version", () => {
  for (const make of [
    () => redisStore({ client: {} as never }),
    () => dynamoStore({ client: {} as never }),
    () => postgresStore({ pool: {} as never }),
    () => mysqlStore({ pool: {} as never }),
    () => sqliteStore({ database: {} as never }),
  ]) {
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }) as Error);
  }
});

it("sqliteStore refuses a handle of libsql/promise", () => {
  const load = createRequire(import.meta.url);
  const Handle = load("libsql/promise") as new (file: string) => never;
  expect(() => sqliteStore({ database: new Handle(":memory:") })).toThrow(
    expect.objectContaining({ code: "unsupported_version" }) as Error,
  );
});
