import { EventEmitter } from "node:events";
import pg from "pg";
import { expect, it, vi } from "vitest";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import {
  ConfigurationError,
  memoryStore,
  type DeliveryContext,
  type DeliveryStore,
  type WebhookReceiverOptions,
} from "../../src/index.js";
import { d1Store } from "../../src/stores/cloudflare/d1-store.js";
import { mysqlStore } from "../../src/stores/mysql/index.js";
import { postgresStore, postgresTransactions } from "../../src/stores/postgres/index.js";
import { redisStore } from "../../src/stores/redis/index.js";
import { sqliteStore, sqliteTransactions } from "../../src/stores/sqlite/index.js";
import { createCollector, linesWith } from "../support/collector.js";
import { delivery } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { pgBossStub } from "../support/inbox/pg-boss-stub.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { libsql, type SqliteHandle } from "../support/sqlite/drivers.js";
import { withSqliteFolder } from "../support/sqlite/folder.js";
import { openLedger } from "../support/sqlite/transaction-cases.js";
import { transactionalReceiver } from "../support/transactional/transactional-receiver.js";

/** A client whose calls fail: the warning comes at the first call, whatever becomes of it. */
const clientWith = (members: object) => Object.assign(new EventEmitter(), members);
const pgPool = () => clientWith({ query: rejects, connect: rejects, totalCount: 0, options: {} });
const nodeRedis = () =>
  clientWith({ isOpen: true, isReady: true, evalSha: rejects, eval: rejects });
const ioredis = () =>
  clientWith({ status: "ready", connect: rejects, evalsha: rejects, eval: rejects });

type Make = (client: never) => WebhookReceiverOptions["store"];
const CLIENTS: readonly [string, () => EventEmitter, Make][] = [
  ["the pool of pg", pgPool, (pool) => postgresStore({ pool })],
  ["the pool of pg", pgPool, (pool) => postgresTransactions({ pool }) as never],
  ["the client of node-redis", nodeRedis, (client) => redisStore({ client, logger: false })],
];

/** The warnings of a receiver whose client gets a listener or none after the receiver was made. */
async function warningsOf(client: EventEmitter, make: Make, listens: boolean) {
  const { receive, lines } = recordingReceiver({ store: make(client as never) });
  expect(lines).toEqual([]);
  if (listens) client.on("error", () => undefined);
  for (const id of ["a", "b"]) await receive(await delivery({ id }));
  return linesWith(lines, "has no listener").map(({ message }) => message);
}

it.each(CLIENTS)(
  "%s without a listener for its error causes one warning: case %#",
  async (what, make, store) => {
    expect(await warningsOf(make(), store, false)).toEqual([expect.stringContaining(what)]);
    expect(await warningsOf(make(), store, true)).toEqual([]);
  },
);

it("postgresTransactions refuses a client in the place of a pool, and says what to pass", () => {
  const pool = new pg.Client() as never;
  expect(() => postgresTransactions({ pool })).toThrow(/^pool is a Client of pg.* new pg\.Pool/);
});

/** What a receiver on SQLite warns of after these alarms, of which the handler writes only those that are named. */
async function unusedTx(ids: readonly string[], writes: readonly string[]) {
  const { options, lines, reports } = createCollector();
  await withSqliteFolder(libsql, async (folder) => {
    const store = sqliteTransactions({ database: openLedger(folder) });
    const write: (context: DeliveryContext<SqliteHandle>) => unknown = (context) =>
      writes.includes(context.id) &&
      context.tx.prepare("INSERT INTO effects (name) VALUES (?)").run(context.id);
    const receiver = transactionalReceiver(store, (context) => void write(context), options);
    for (const id of ids) await receiver.receive(await delivery({ id }));
  });
  expect(reports.map(({ outcome }) => outcome)).toEqual(ids.map(() => "handled"));
  return lines.map(({ level, message, details }) => [level, message.split(":")[1], details]);
}

it("a handler that finishes without having used tx is warned of once", async () => {
  const text = " the handler of new_alarm finished without context.tx";
  const warning = ["warn", text, { id: "a", type: "new_alarm" }];
  expect(await unusedTx(["a", "b"], [])).toEqual([warning]);
});

it("a handler that has used tx is not warned of, also when it later has nothing to write", async () => {
  expect(await unusedTx(["a", "b"], ["a"])).toEqual([]);
});

it("a client of ioredis without a listener causes no warning", async () => {
  const store: Make = (client) => redisStore({ client, logger: false });
  expect(await warningsOf(ioredis(), store, false)).toEqual([]);
});

it("a PgBoss without a listener for its error causes one line", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue(undefined);
  for (const listens of [true, false]) {
    const boss = clientWith(pgBossStub({ createQueue: rejects }));
    if (listens) boss.on("error", () => undefined);
    const driver = pgBossQueue({ boss: boss as never });
    expect(warn).not.toHaveBeenCalled();
    for (let time = 0; time < 2; time += 1) {
      await expect(driver.put({ id: "a" } as never, {})).rejects.toThrow();
    }
  }
  expect(warn.mock.calls).toEqual([[expect.stringContaining("the PgBoss has no listener")]]);
});

const unused = (): never => expect.fail("the client is not used");
const client = { evalSha: unused, eval: unused, isReady: true } as never;
const pool = { getConnection: unused, query: unused } as never;
const database = { prepare: unused, batch: unused } as never;

it.each<[string, DeliveryStore, string | undefined]>([
  ["memoryStore", memoryStore(), undefined],
  ["redisStore", redisStore({ client }), "gateway-deliveries:"],
  ["redisStore with a prefix", redisStore({ client, keyPrefix: "a:" }), "a:"],
  ["postgresStore", postgresStore({ pool }), "gateway_deliveries"],
  ["postgresStore with a table", postgresStore({ pool, table: "a.b" }), "a.b"],
  ["mysqlStore", mysqlStore({ pool }), "gateway_deliveries"],
  ["mysqlStore with a table", mysqlStore({ pool, table: "b" }), "b"],
  ["d1Store", d1Store({ database }), "gateway_deliveries"],
  ["d1Store with a table", d1Store({ database, table: "b" }), "b"],
])("the scope of %s is its table or prefix, also in a copy of it", (_name, store, scope) => {
  const copy: DeliveryStore = { ...store };
  expect(copy.scope).toBe(scope);
});

it("the scope of sqliteStore is its table, also in a copy of it", async () => {
  await withSqliteFolder(libsql, ({ open }) => {
    for (const table of [undefined, "b"]) {
      const copy: DeliveryStore = { ...sqliteStore({ database: open(), table }) };
      expect(copy.scope).toBe(table ?? "gateway_deliveries");
    }
  });
});

const ignore = (): void => undefined;
/** A client of redis 3 has no promises, and connects by itself. */
const REDIS_3 = { evalsha: ignore, eval: ignore, exec: ignore, connection_id: 1, server_info: {} };

it.each<[string, (given: never) => unknown, unknown, string, string?]>([
  [
    "redisStore refuses a client of redis 3",
    (client) => redisStore({ client }),
    REDIS_3,
    "client is of redis 3",
    "redis 5 and later, ioredis 5 and later, @upstash/redis 1.34 and later",
  ],
  [
    "postgresTransactions refuses a pool without connect",
    (pool) => postgresTransactions({ pool }),
    { query: ignore },
    "pool is of a version of pg without the method connect",
    "pg 8 and later",
  ],
  [
    "sqliteStore refuses a handle without exec",
    (database) => sqliteStore({ database }),
    { prepare: ignore },
    "database is of a version of the SQLite driver without the method exec",
    "better-sqlite3 11 and later, libsql 0.5 and later, node:sqlite, bun:sqlite",
  ],
  [
    "sqliteTransactions refuses a handle whose statements return promises",
    (database) => sqliteTransactions({ database }),
    { exec: ignore, prepare: () => Promise.resolve({}) },
    "database is of a SQLite driver whose prepare() returns no statement with run and get, such as libsql/promise",
  ],
])("%s and names the versions that work", (_, make, given, what, supported) => {
  const call = () => make(given as never);
  expect(call).toThrow(ConfigurationError);
  expect(call).toThrow(expect.objectContaining({ code: "unsupported_version" }) as Error);
  const works =
    supported === undefined ? "" : `, which does not work here. Supported: ${supported}`;
  expect(call).toThrow(what + works);
});

it("an object with no method of its peer is an invalid option, of no version", () => {
  for (const make of [
    () => redisStore({ client: {} as never }),
    () => postgresStore({ pool: {} as never }),
    () => mysqlStore({ pool: {} as never }),
    () => sqliteStore({ database: {} as never }),
  ]) {
    expect(make).toThrow(expect.objectContaining({ code: "invalid_option" }) as Error);
  }
});
