import { describeService } from "../describe-service.js";
import { hasPostgres } from "../postgres/postgres-server.js";
import { hasRedisServer } from "../redis/redis-server.js";
import { startBullmqEngine } from "./inbox-bullmq-engine.js";
import type { InboxEngine } from "./inbox-engine.js";
import { startPgBossEngine } from "./inbox-pg-boss-engine.js";

/** `describe` for tests on pg-boss. Skips them if PostgreSQL is not installed. */
export function describePgBoss(title: string, body: () => void): void {
  const isThere = hasPostgres;
  describeService(title, isThere ? undefined : "PostgreSQL is not on this machine", body);
}

/** `describe` for tests on BullMQ. Skips them if Redis is not installed. */
export function describeBullmq(title: string, body: () => void): void {
  describeService(title, hasRedisServer ? undefined : "Redis is not on this machine", body);
}

/** `describe` for tests that hold for both engines. `start` starts the engine on its own server. */
export function describeEachEngine(
  body: (name: "pg-boss" | "bullmq", start: () => Promise<InboxEngine>) => void,
): void {
  describePgBoss("pg-boss on PostgreSQL", () => {
    body("pg-boss", startPgBossEngine);
  });
  describeBullmq("BullMQ on Redis", () => {
    body("bullmq", startBullmqEngine);
  });
}
