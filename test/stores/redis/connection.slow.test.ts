import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "redis";
import { expect, it, onTestFinished } from "vitest";
import { redisStore } from "../../../src/stores/redis/index.js";
import {
  STANDALONE_KINDS,
  openIoredis,
  portsOf,
  type ConnectedClient,
} from "../../support/redis/redis-clients.js";
import {
  claimWhenBack,
  connectIoredis,
  connectNodeRedis,
  describeRedis,
  newServer,
} from "../../support/redis/redis-describe.js";
import { TIMES, callsTo, verbsOf } from "../../support/stores/store-cases.js";

/** Less than the two seconds for a first connection and the five that a receiver waits. */
const AT_ONCE_MS = 1_500;

/** A client of each library that has just begun to connect. */
const CONNECTING: readonly (readonly [string, (port: number) => ConnectedClient])[] = [
  ["node-redis", (port) => connectNodeRedis(port)],
  ["ioredis", (port) => connectIoredis(port)],
  ["ioredis with lazyConnect", (port) => connectIoredis(port, { lazyConnect: true })],
];

async function millisecondsToReject(call: () => unknown, message: string): Promise<number> {
  const startedAt = performance.now();
  await expect(Promise.resolve().then(call)).rejects.toThrow(message);
  return performance.now() - startedAt;
}

describeRedis("the first connection of a Redis store", () => {
  it.each(CONNECTING)("a Redis store waits for the first connection of %s", async (_, connect) => {
    const server = await newServer();
    await server.kill();
    const store = redisStore({ client: connect(server.port) });
    const claim = verbsOf(store).claimed("k", "a");
    await wait(200);
    await server.start();
    await claim;
  });

  it.each(CONNECTING)(
    "a Redis store waits two seconds, once, for the first connection of %s",
    async (_, connect) => {
      const server = await newServer();
      await server.kill();
      const store = redisStore({ client: connect(server.port) });
      const message = "the Redis client is not connected: is the server up?";
      const waited = await Promise.all(
        ["first", "second"].map((key) =>
          millisecondsToReject(() => store.claim(key, "a", TIMES), message),
        ),
      );
      for (const ms of waited) {
        expect(ms).toBeGreaterThan(1_900);
        // The receiver gives up after 5 s by default, and would not report the reason.
        expect(ms).toBeLessThan(4_500);
      }
      for (const call of callsTo(store)) {
        expect(await millisecondsToReject(call, message)).toBeLessThan(AT_ONCE_MS);
      }
      await server.start();
      expect(await claimWhenBack(store, "fourth", "a")).toMatchObject({ state: "claimed" });
      expect(await connectIoredis(server.port).keys("*")).toEqual([
        "gateway-deliveries:1:{fourth}",
      ]);
    },
  );
});

describeRedis("a Redis store without a connection", () => {
  it("a Redis store rejects at once through a client that was never connected", async () => {
    const store = redisStore({ client: createClient({ url: "redis://127.0.0.1:1" }) });
    const claim = () => store.claim("k", "a", TIMES);
    expect(
      await millisecondsToReject(claim, "is closed: call client.connect() when the application"),
    ).toBeLessThan(AT_ONCE_MS);
  });

  it.each(STANDALONE_KINDS)(
    "a Redis store rejects at once through a closed client of $name",
    async ({ open }) => {
      const { client, close } = await open(portsOf(await newServer()));
      const store = redisStore({ client });
      await store.claim("k", "a", TIMES);
      await close();
      const claim = () => store.claim("k", "b", TIMES);
      expect(await millisecondsToReject(claim, "the Redis client is closed")).toBeLessThan(
        AT_ONCE_MS,
      );
    },
  );

  it("a Redis store rejects at once while 10 000 calls wait", async () => {
    const server = await newServer();
    const { client, close } = await openIoredis(server.port);
    onTestFinished(close);
    // The check of the eviction policy would be one more call.
    const store = redisStore({ client, logger: false });
    await store.claim("k", "a", TIMES);
    server.pause();
    const waiting = Array.from({ length: 10_000 }, (_, index) =>
      Promise.resolve(store.claim(`k${index}`, "a", TIMES)),
    );
    // Without a time limit, since 10 000 calls keep the process busy: a waiting call would never end.
    await millisecondsToReject(
      () => store.claim("l", "a", TIMES),
      "10000 calls already wait for Redis",
    );
    server.resume();
    const results = await Promise.all(waiting);
    expect(results.every(({ state }) => state === "claimed")).toBe(true);
    await verbsOf(store).claimed("l", "a");
  });
});
