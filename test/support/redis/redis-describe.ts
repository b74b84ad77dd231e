import { describeService } from "../describe-service.js";
import { hasRedisServer } from "./redis-server.js";

/** `describe` for tests that start a Redis server. */
export function describeRedis(title: string, body: () => void): void {
  describeService(title, hasRedisServer ? undefined : "redis-server is not on PATH", body);
}
