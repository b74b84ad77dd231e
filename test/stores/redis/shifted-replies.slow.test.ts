import type { Redis } from "ioredis";
import { beforeEach, expect, it } from "vitest";
import { redisStore } from "../../../src/stores/redis/index.js";
import type { IoredisClient } from "../../../src/stores/redis/redis-connection.js";
import { redisKey } from "../../../src/stores/redis/redis-scripts.js";
import { createRandom } from "../../../kit/random.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisWithAdmin } from "../../support/redis/redis-server.js";
import { startedForAll } from "../../support/started-for-all.js";
import { callsTo } from "../../support/stores/store-cases.js";

/** The value of a completed key. */
const COMPLETED = "1";
const keyOf = (id: string) => redisKey("", id);

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

  /** A receiver on such a client, and how often its handler ran by id. */
  function scene(whileRunning: () => Promise<unknown> = () => Promise.resolve()) {
    const { client, shifting } = shiftingClient(admin);
    const runs = new Map<string, number>();
    const store = redisStore({ client, keyPrefix: "", logger: false });
    const receiver = alarmReceiver(
      async ({ id }) => {
        await whileRunning();
        runs.set(id, (runs.get(id) ?? 0) + 1);
      },
      { store },
    );
    const deliver = async (id: string) => receiver.receive(await delivery({ id }));
    return { deliver, shifting, runs, store };
  }

  it("a refused completion is retried, though its call got a success", async () => {
    const { deliver, shifting, store } = scene(async () => {
      await admin.config("SET", "min-replicas-to-write", "1");
      // The refused completion receives the reply to this one, a success.
      await store.complete("other", "owner", { retentionMs: 60_000 });
      shifting.isShifted = true;
    });
    await admin.set(keyOf("other"), COMPLETED);
    const answer = deliver("refused");
    expect(await answer).toMatchObject({ status: 200, outcome: "handled" });
    expect(await admin.get(keyOf("refused"))).not.toBe(COMPLETED);
    shifting.isShifted = false;
    await admin.config("SET", "min-replicas-to-write", "0");
    await expect.poll(() => admin.get(keyOf("refused"))).toBe(COMPLETED);
  });

  it.each([1, 2, 3])(
    "with shifted replies no unhandled delivery is acknowledged (seed %i)",
    async (seed) => {
      const { deliver, shifting, runs } = scene(() => new Promise(setImmediate));
      const { pick } = createRandom(seed);
      // Other ids in each run: an earlier receiver may still retry the completions of its own.
      const ids = Array.from({ length: 60 }, (_, index) => `alarm-${seed}-${index}`);
      const unhandled: string[] = [];
      await Promise.all(
        ids.flatMap((id) =>
          [1, 2, 3].map(async () => {
            for (let attempt = 0; attempt < 5; attempt += 1) {
              shifting.isShifted = pick([true, false]);
              const { status } = await deliver(id);
              if (status === 200 && !runs.has(id)) unhandled.push(id);
            }
          }),
        ),
      );
      expect(unhandled).toEqual([]);
      shifting.isShifted = false;
      for (const id of runs.keys()) {
        await expect.poll(() => admin.get(keyOf(id))).toBe(COMPLETED);
      }
    },
  );

  it("every method rejects the reply to another script", async () => {
    const { shifting, store } = scene();
    const calls = callsTo(store);
    // From here on the server has all scripts loaded.
    for (const call of calls) await call();
    shifting.isShifted = true;
    for (const call of [...calls, ...calls]) {
      await expect(call()).rejects.toThrow("returned the reply to another command");
    }
  });
});
