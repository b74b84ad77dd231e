import type { Redis } from "ioredis";
import { beforeEach, expect, it } from "vitest";
import { redisStore } from "../../../src/stores/redis/index.js";
import type { IoredisClient } from "../../../src/stores/redis/redis-connection.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisWithAdmin } from "../../support/redis/redis-server.js";
import { startedForAll } from "../../support/started-for-all.js";
import { callsTo } from "../../support/stores/store-cases.js";

/** A client that, while `isShifted`, answers each command with the reply to the one before. */
function shiftingClient(client: Redis) {
  let previous: Promise<unknown> = Promise.resolve(0);
  const shifting = {
    isShifted: false,
    answer(reply: Promise<unknown>): Promise<unknown> {
      const given = shifting.isShifted ? previous : reply;
      reply.catch(() => undefined);
      previous = reply;
      return given;
    },
  };
  const shifted: IoredisClient = {
    get status() {
      return client.status;
    },
    connect: () => client.connect(),
    evalsha: (...args) => shifting.answer(client.evalsha(...args)),
    eval: (...args) => shifting.answer(client.eval(...args)),
  };
  return { client: shifted, shifting };
}

describeRedis("a Redis client that returns replies to other calls", () => {
  const server = startedForAll(startRedisWithAdmin);
  let admin: Redis;

  beforeEach(async () => {
    ({ admin } = server());
    await admin.flushall();
  });

  it("every method rejects the reply to another script", async () => {
    const { client, shifting } = shiftingClient(admin);
    const store = redisStore({ client, keyPrefix: "", logger: false });
    const calls = callsTo(store);
    // From here on the server has all scripts loaded.
    for (const call of calls) await call();
    shifting.isShifted = true;
    for (const call of [...calls, ...calls]) {
      await expect(call()).rejects.toThrow("returned the reply to another command");
    }
  });
});
