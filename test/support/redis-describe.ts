import { describe, expect, it } from "vitest";
import { hasRedisServer } from "./redis-server.js";

const MISSING = "redis-server is not on PATH: the tests of the Redis store did NOT run";

/** `describe` for tests that start a Redis server. Without one they fail on CI, and say so elsewhere. */
export function describeRedis(title: string, body: () => void): void {
  if (hasRedisServer) {
    describe(title, body);
    return;
  }
  describe(title, () => {
    it("has a redis-server to run on", (context) => {
      process.stderr.write(`\n${MISSING}\n`);
      expect(process.env["CI"], MISSING).not.toBe("true");
      context.skip(MISSING);
    });
  });
}
