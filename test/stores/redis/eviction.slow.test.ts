import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { EVICTION_POLICY, POLICY_CODES } from "../../../src/stores/redis/eviction-check.js";
import { CALL_FACTOR } from "../../../src/stores/redis/redis-scripts.js";
import { redisStore, type RedisStoreOptions } from "../../../src/stores/redis/index.js";
import type { NodeRedisClient } from "../../../src/stores/redis/redis-connection.js";
import { metricsText } from "../../../src/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { rejects, throwing } from "../../support/faults.js";
import { STANDALONE_KINDS, openNodeRedis, portsOf } from "../../support/redis/redis-clients.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisWithAdmin } from "../../support/redis/redis-server.js";
import { startedForAll } from "../../support/started-for-all.js";
import { verbsOf } from "../../support/stores/store-cases.js";

describe.each(STANDALONE_KINDS)("through $name", ({ open }) => {
  describeRedis("the check of the eviction policy", () => {
    const server = startedForAll(startRedisWithAdmin);
    let admin: Redis;
    const setPolicy = (policy: string) => admin.config("SET", "maxmemory-policy", policy);
    const faults: unknown[] = [];
    const onFault = (fault: unknown) => void faults.push(fault);

    beforeAll(() => {
      process.on("unhandledRejection", onFault);
      ({ admin } = server());
    });
    afterEach(async () => {
      await setPolicy("noeviction");
      await admin.acl("SETUSER", "default", "+@all");
      expect(faults.splice(0)).toEqual([]);
    });
    afterAll(() => {
      process.off("unhandledRejection", onFault);
    });

    /** Returns the warnings of a store that is used for three claims. */
    async function warningsOf(options: Partial<RedisStoreOptions> = {}): Promise<unknown[][]> {
      const { client, close } = await open(portsOf(server()));
      const warn = vi.fn();
      const store = redisStore({ client, logger: { warn }, ...options });
      try {
        for (const key of ["one", "two", "three"]) {
          await verbsOf(store).claimed(key, "a");
          await store.release(key, "a");
        }
        // Redis answers in order, so after this release it has answered the check.
        await store.release("four", "a");
        await new Promise(setImmediate);
        return warn.mock.calls;
      } finally {
        await close();
      }
    }

    it.each(["allkeys-lru", "volatile-ttl"])(
      "redisStore warns once about the policy %s",
      async (policy) => {
        await setPolicy(policy);
        expect(await warningsOf()).toEqual([
          [expect.stringContaining("set maxmemory-policy to noeviction")],
        ]);
      },
    );

    it("a receiver counts in its metrics that Redis may forget its ids", async () => {
      await setPolicy("allkeys-lru");
      const { client, close } = await open(portsOf(server()));
      const store = redisStore({ client, logger: { warn: () => undefined } });
      const receiver = alarmReceiver(() => undefined, { store });
      await receiver.receive(await delivery());
      await store.release("another", "a");
      await new Promise(setImmediate);
      await close();
      const madeLater = alarmReceiver(() => undefined, { store });
      for (const one of [receiver, madeLater]) {
        expect(metricsText(one)).toContain("\ngateway_webhook_store_forgets_total 1\n");
      }
    });

    it("redisStore reads the policy without CONFIG", async () => {
      await admin.acl("SETUSER", "default", "-config");
      expect(await warningsOf()).toEqual([]);
      await admin.acl("SETUSER", "default", "+config");
    });

    it("redisStore warns once, with the error, if it cannot read the policy", async () => {
      await admin.acl("SETUSER", "default", "-info");
      const warnings = await warningsOf();
      expect(warnings).toEqual([
        [
          expect.stringContaining("could not be read with INFO: make sure that maxmemory-policy"),
          { error: expect.any(Error) as Error },
        ],
      ]);
    });

    it("redisStore warns on the console, and checks nothing with logger: false", async () => {
      await setPolicy("allkeys-lru");
      const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
      await warningsOf({ logger: undefined });
      expect(warn).toHaveBeenCalledTimes(1);
      await admin.config("RESETSTAT");
      // Three claims, four releases and no check.
      await warningsOf({ logger: false });
      expect(warn).toHaveBeenCalledTimes(1);
      expect(await admin.info("commandstats")).toContain("cmdstat_evalsha:calls=7,");
    });

    it.each<[string, () => unknown]>([
      ["throws", throwing(new Error("no logger"))],
      ["rejects", rejects],
    ])("redisStore goes on if the method warn of its logger %s", async (_, warn) => {
      await setPolicy("allkeys-lru");
      expect(await warningsOf({ logger: { warn } })).toEqual([]);
    });

    /** A client whose reads of the policy another function answers. It returns undefined to let one pass. */
    async function answeringClient(
      answer: (call: number) => Promise<number> | undefined,
    ): Promise<NodeRedisClient> {
      const { client, close } = await openNodeRedis(server().port);
      onTestFinished(close);
      return {
        isOpen: true,
        isReady: true,
        evalSha(sha1, input) {
          const answered =
            sha1 === EVICTION_POLICY.sha1 ? answer(Number(input.arguments.at(-1))) : undefined;
          return answered ?? client.evalSha(sha1, input);
        },
        eval: (lua, input) => client.eval(lua, input),
      };
    }

    it("redisStore warns once if the server does not report its policy", async () => {
      const silent = await answeringClient((call) =>
        Promise.resolve(call * CALL_FACTOR + POLICY_CODES.unknown),
      );
      expect(await warningsOf({ client: silent })).toEqual([
        [expect.stringContaining("could not be read with INFO")],
      ]);
    });

    it("redisStore checks the policy again if the connection broke", async () => {
      await setPolicy("allkeys-lru");
      let breaks = 1;
      const breaking = await answeringClient(() =>
        breaks-- > 0 ? Promise.reject(new Error("Socket closed unexpectedly")) : undefined,
      );
      expect(await warningsOf({ client: breaking })).toHaveLength(1);
      expect(breaks).toBe(-1);
    });
  });
});
