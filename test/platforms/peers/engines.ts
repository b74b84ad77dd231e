import { startDynalite } from "../../support/dynamodb/dynalite-server.js";
import { startSqs } from "../../support/inbox/sqs-engine.js";
import { startMysql } from "../../support/mysql/mysql-server.js";
import { startNatsServer } from "../../support/nats/nats-server.js";
import { startPostgres } from "../../support/postgres/postgres-server.js";
import { startRabbitmq } from "../../support/rabbitmq/rabbitmq-server.js";
import { startRedisHttpFront } from "../../support/redis/http-front.js";
import { startRedisServer } from "../../support/redis/redis-server.js";
import type { Engine } from "./peers.js";

/** Real servers for the peers that need one. */
export interface Engines {
  /** What the receiver needs to connect to it. */
  readonly addressOf: (engine: Engine) => object;
  readonly close: () => Promise<void>;
}

/** Starts them all on free ports of 127.0.0.1. */
export async function startEngines(): Promise<Engines> {
  const postgres = await startPostgres();
  const redis = await startRedisServer({ "maxmemory-policy": "noeviction" });
  const front = await startRedisHttpFront(redis.url);
  const mysql = await startMysql();
  const dynamodb = await startDynalite({ inMemory: true });
  const nats = await startNatsServer();
  const rabbitmq = await startRabbitmq();
  const sqs = await startSqs();
  const host = "127.0.0.1";
  const addresses: Readonly<Record<Engine, object>> = {
    postgres: { url: `postgres://postgres@${host}:${String(postgres.port)}/postgres` },
    redis: { host, port: redis.port },
    "redis-http": { url: front.url, token: front.token },
    mysql: { host, port: mysql.port },
    dynamodb: { url: dynamodb.url },
    nats: { servers: nats.url },
    rabbitmq: { url: rabbitmq.url },
    sqs: { url: sqs.url },
  };
  return {
    addressOf: (engine) => addresses[engine],
    async close() {
      await front.close();
      await Promise.all(
        [postgres, redis, mysql, dynamodb, nats, rabbitmq, sqs].map((server) => server.close()),
      );
    },
  };
}
