import { expect, it, onTestFinished } from "vitest";
import type { DeliveryStore } from "../../src/index.js";
import { dynamoStore } from "../../src/stores/dynamodb/index.js";
import { redisStore } from "../../src/stores/redis/index.js";
import { alarmReceiver, send } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { startDynalite } from "../support/dynamodb/dynalite-server.js";
import { makeTable, openSdkClient } from "../support/dynamodb/dynamodb-clients.js";
import { startDynamodbFront, type DynamodbFront } from "../support/dynamodb/dynamodb-front.js";
import { mysqlEngine } from "../support/mysql/mysql-engine.js";
import { postgresEngine } from "../support/postgres/postgres-engine.js";
import { startRedisHttpFront, type RedisHttpFront } from "../support/redis/http-front.js";
import { STANDALONE_KINDS, openUpstash, portsOf } from "../support/redis/redis-clients.js";
import { newServer } from "../support/redis/redis-describe.js";
import type { Sql, SqlEngine } from "../support/stores/sql-engine.js";

/** An engine that can hang, and be away. */
interface Engine {
  /** Opens a store with a client of its own. */
  readonly openStore: () => Promise<DeliveryStore>;
  /** Answers nothing, until the returned function is called. */
  readonly hang: () => Promise<() => unknown>;
  readonly kill: () => Promise<unknown>;
  readonly start: () => Promise<unknown>;
}

/** Holds every request until the returned function is called. */
function hang(front: DynamodbFront | RedisHttpFront): Promise<() => void> {
  const { promise, resolve } = deferred();
  front.faultOf = () => ({ hold: promise });
  return Promise.resolve(() => {
    front.faultOf = () => undefined;
    resolve();
  });
}

async function startSql<Pool extends Sql>(engine: SqlEngine<Pool>): Promise<Engine> {
  const server = await engine.start();
  onTestFinished(() => server.close());
  const pool = server.pool({ max: 1 });
  await engine.makeStore(pool).migrate();
  return {
    openStore: () => Promise.resolve(engine.makeStore(pool)),
    async hang() {
      const only = await engine.connect(pool);
      return () => only.release();
    },
    kill: () => server.stop("crash"),
    start: () => server.start(),
  };
}

async function startDynamodb(): Promise<Engine> {
  const server = await startDynalite();
  onTestFinished(server.close);
  const front = await startDynamodbFront(server.url);
  onTestFinished(front.close);
  const admin = await openSdkClient(server.url);
  await makeTable(admin, "gateway_deliveries");
  admin.destroy();
  return {
    async openStore() {
      const client = await openSdkClient(front.url);
      onTestFinished(() => client.destroy());
      return dynamoStore({ client });
    },
    hang: () => hang(front),
    kill: server.kill,
    start: server.start,
  };
}

async function startRedis(kind: (typeof STANDALONE_KINDS)[number]): Promise<Engine> {
  const server = await newServer();
  return {
    async openStore() {
      const { client, close } = await kind.open(portsOf(server));
      onTestFinished(close);
      return redisStore({ client });
    },
    hang() {
      server.pause();
      return Promise.resolve(() => server.resume());
    },
    kill: server.kill,
    start: server.start,
  };
}

async function startRedisOverHttp(): Promise<Engine> {
  const server = await newServer();
  const front = await startRedisHttpFront(server.url);
  onTestFinished(front.close);
  return {
    openStore: async () => redisStore({ client: await openUpstash(front), logger: false }),
    hang: () => hang(front),
    kill: server.kill,
    start: server.start,
  };
}

const ENGINES: readonly (readonly [name: string, start: () => Promise<Engine>])[] = [
  ["PostgreSQL", () => startSql(postgresEngine)],
  ["MariaDB", () => startSql(mysqlEngine)],
  ...STANDALONE_KINDS.map((kind) => [`Redis, ${kind.name}`, () => startRedis(kind)] as const),
  ["Redis over HTTP", startRedisOverHttp],
  ["DynamoDB", startDynamodb],
];

it.each(ENGINES)(
  "a receiver on %s answers 503 while it hangs, and handles the delivery afterwards",
  async (_name, start) => {
    const { openStore, hang } = await start();
    const runs: string[] = [];
    const store = await openStore();
    const receiver = alarmReceiver(({ id }) => runs.push(id), { store });
    const hasty = alarmReceiver(({ id }) => runs.push(id), { store, dependencyTimeoutMs: 300 });
    expect(await send(receiver, "before")).toBe("200 handled");
    const request = await delivery({ id: "during" });
    const goOn = await hang();
    const startedAt = performance.now();
    expect(await send(hasty, request)).toBe("503 store_unavailable");
    // The default is 5 s.
    expect(performance.now() - startedAt).toBeLessThan(4_500);
    await goOn();
    // The claim that was granted too late is released. Its lease would be held for much longer.
    await expect.poll(async () => (await hasty.receive(request)).outcome).toBe("handled");
    expect(runs).toEqual(["before", "during"]);
  },
);

it.each(ENGINES)(
  "a delivery handled while %s was away is completed once it is back",
  async (_name, start) => {
    const engine = await start();
    const one = alarmReceiver(() => engine.kill(), { store: await engine.openStore() });
    const request = await delivery({ id: "away" });
    expect(await send(one, request)).toBe("200 handled");
    expect(await send(one, request)).toBe("200 duplicate");
    expect(await send(one, "other")).toBe("503 store_unavailable");
    await engine.start();
    const store = await engine.openStore();
    await expect
      .poll(() => store.claim("away", "a", { leaseMs: 1, retentionMs: 1 }))
      .toEqual({ state: "completed" });
  },
);
