import { describeService } from "../describe-service.js";
import { hasNatsServer } from "../nats/nats-server.js";
import { hasPostgres } from "../postgres/postgres-server.js";
import { hasRabbitmq } from "../rabbitmq/rabbitmq-server.js";
import { hasRedisServer } from "../redis/redis-server.js";
import { startedForAll } from "../started-for-all.js";
import { startBullmqEngine, type BullmqEngine } from "./inbox-bullmq-engine.js";
import type { InboxEngine } from "./inbox-engine.js";
import { startPgBossEngine, type PgBossEngine } from "./inbox-pg-boss-engine.js";

/** `describe` for tests on pg-boss. Skips them if PostgreSQL is not installed. */
export function describePgBoss(title: string, body: () => void): void {
  const isThere = hasPostgres;
  describeService(title, isThere ? undefined : "PostgreSQL is not on this machine", body);
}

/** `describe` for tests on BullMQ. Skips them if Redis is not installed. */
export function describeBullmq(title: string, body: () => void): void {
  describeService(title, hasRedisServer ? undefined : "Redis is not on this machine", body);
}

/** `describe` for tests on NATS. Skips them if it or Redis, which has the store, is not installed. */
export function describeNats(title: string, body: () => void): void {
  const isThere = hasNatsServer && hasRedisServer;
  describeService(title, isThere ? undefined : "NATS or Redis is not on this machine", body);
}

/** `describe` for tests on RabbitMQ. Skips them if it or Redis, which has the store, is not installed. */
export function describeRabbitmq(title: string, body: () => void): void {
  const isThere = hasRabbitmq && hasRedisServer;
  describeService(title, isThere ? undefined : "RabbitMQ or Redis is not on this machine", body);
}

/** `describePgBoss` with a PgBoss that all its tests share. */
export function describeOnPgBoss(title: string, body: (engine: () => PgBossEngine) => void): void {
  describePgBoss(title, () => body(startedForAll(startPgBossEngine)));
}

/** `describeBullmq` with a Redis that all its tests share. */
export function describeOnBullmq(title: string, body: (engine: () => BullmqEngine) => void): void {
  describeBullmq(title, () => body(startedForAll(startBullmqEngine)));
}

/** `describe` for tests that hold for both engines, each on its own server. */
export function describeEachEngine(
  body: (engine: () => InboxEngine, name: "pg-boss" | "bullmq") => void,
): void {
  describeOnPgBoss("pg-boss on PostgreSQL", (engine) => body(engine, "pg-boss"));
  describeOnBullmq("BullMQ on Redis", (engine) => body(engine, "bullmq"));
}
