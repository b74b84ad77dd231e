import { startBullmqEngine } from "./inbox-bullmq-engine.js";
import { startPgBossEngine } from "./inbox-pg-boss-engine.js";
import { postgresBinaries } from "../postgres/postgres-server.js";
import { hasRedisServer } from "../redis/redis-server.js";

/** Both engines, for tests that hold for each. */
export const ENGINES = [
  ["pg-boss on PostgreSQL", postgresBinaries !== undefined, startPgBossEngine],
  ["BullMQ on Redis", hasRedisServer, startBullmqEngine],
] as const;
