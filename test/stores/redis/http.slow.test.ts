import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { StoreVerbs } from "../../../kit/store-contract/store-verbs.js";
import { ConfigurationError } from "../../../src/index.js";
import { redisStore, type RedisStoreOptions } from "../../../src/stores/redis/index.js";
import { compileUses } from "../../support/compile-uses.js";
import { startRedisHttpFront } from "../../support/redis/http-front.js";
import { openUpstash, type UpstashClient } from "../../support/redis/redis-clients.js";
import { describeRedis } from "../../support/redis/redis-describe.js";
import { startRedisServer } from "../../support/redis/redis-server.js";
import { startedForAll } from "../../support/started-for-all.js";
import { callsTo, verbsOf } from "../../support/stores/store-cases.js";

describeRedis("the Redis store over HTTP when requests fail", () => {
  const server = startedForAll(startRedisServer);
  const started = startedForAll(() => startRedisHttpFront(server().url));
  let front: ReturnType<typeof started>;
  let calls: StoreVerbs;
  let client: UpstashClient;

  beforeEach(async () => {
    front = started();
    client = await openUpstash(front, { retry: { retries: 5, backoff: () => 5 } });
    calls = callsOf(client);
  });
  afterEach(() => {
    front.faultOf = () => undefined;
  });

  const callsOf = (of: UpstashClient): StoreVerbs =>
    verbsOf(redisStore({ client: of, keyPrefix: `${randomUUID()}:`, logger: false }));

  /** Loses the next two answers. The client sends again up to 5 times. */
  const loseTwoAnswers = () => {
    let lost = 0;
    front.faultOf = () => (lost++ < 2 ? "lose the answer" : undefined);
  };
  const commandsAfter = (at: number) =>
    front.requests.slice(at).flatMap(({ commands }) => commands.map(([name = ""]) => name));

  it("a script that runs twice because its answer was lost counts once", async () => {
    await calls.claimed("warm", "a");
    const before = front.requests.length;
    loseTwoAnswers();
    await calls.claimed("k", "a");
    expect(commandsAfter(before)).toEqual(["evalsha", "evalsha", "evalsha"]);
    loseTwoAnswers();
    await calls.renewed("k", "a", true);
    loseTwoAnswers();
    await calls.release("k", "a");
    await calls.claimed("k", "b");
    loseTwoAnswers();
    await calls.complete("k", "b");
    loseTwoAnswers();
    await calls.completed("k", "c");
  });

  it.each<[string, { status: number; body: string }]>([
    ["500 in JSON", { status: 500, body: '{"error":"ERR internal"}' }],
    ["502 of a proxy in HTML", { status: 502, body: "<html>bad gateway</html>" }],
    ["429 at the limit of the plan", { status: 429, body: '{"error":"ERR max requests"}' }],
    ["200 with text that is no JSON", { status: 200, body: "<html>log in</html>" }],
    ["200 with another reply", { status: 200, body: '[{"result":7}]' }],
    ["200 without a result", { status: 200, body: '[{"result":null}]' }],
  ])("the answer %s rejects the call, and nothing was claimed", async (_, fault) => {
    front.faultOf = () => fault;
    for (const call of callsTo(calls.methods)) await expect(call()).rejects.toThrow();
    front.faultOf = () => undefined;
    await calls.claimed("k", "b");
  });

  it("a wrong token rejects the call with the error of the server", async () => {
    const stranger = await openUpstash({ ...front, token: "wrong" });
    await expect(callsOf(stranger).claim("k", "a")).rejects.toThrow("WRONGPASS");
  });

  it("a made-up answer of a client whose signal aborted is rejected", async () => {
    const options = { signal: AbortSignal.abort("over"), enableAutoPipelining: false };
    const aborted = callsOf(await openUpstash(front, options)).claim("k", "a");
    await expect(aborted).rejects.toMatchObject({ code: "unexpected_result" });
  });

  it.each([true, false])(
    "scripts that the server forgot are sent again (automatic pipelines: %s)",
    async (enableAutoPipelining) => {
      const again = callsOf(await openUpstash(front, { enableAutoPipelining }));
      await client.scriptFlush();
      const before = front.requests.length;
      await again.claimed("k", "a");
      expect(commandsAfter(before).slice(0, 2)).toEqual(["evalsha", "eval"]);
    },
  );

  it("calls at the same time share a request", async () => {
    await calls.claimed("warm", "a");
    const before = front.requests.length;
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => calls.claimed(key, "a")));
    expect(front.requests.length - before).toBe(1);
    expect(front.requests.at(-1)?.path).toBe("/pipeline");
  });
});

const nowhere = { url: "http://127.0.0.1:1", token: "t" };

it("redisStore accepts any client with the methods of @upstash/redis", () => {
  const call = () => Promise.resolve(1);
  redisStore({ client: { evalsha: call, eval: call } });
});

it.each<[string, (client: UpstashClient) => unknown]>([
  ["a pipeline of @upstash/redis", (client) => client.pipeline()],
  ["a transaction of @upstash/redis", (client) => client.multi()],
])("redisStore refuses %s", async (_, make) => {
  const options = { client: make(await openUpstash(nowhere)) } as RedisStoreOptions;
  expect(() => redisStore(options)).toThrow(ConfigurationError);
  expect(() => redisStore(options)).toThrow("of @upstash/redis (new Redis; no pipeline)");
});

it("redisStore accepts the client of @upstash/redis, and no pipeline of it", async () => {
  const uses = `
import { Redis } from "@upstash/redis";
import { redisStore } from "identity-gateway-webhooks/redis";

const client = new Redis({ url: "https://example.upstash.io", token: "t" });
redisStore({ client });
redisStore({ client: Redis.fromEnv(), keyPrefix: "app:" });
// @ts-expect-error: a pipeline returns no promises
redisStore({ client: client.pipeline() });
// @ts-expect-error: a transaction returns no promises
redisStore({ client: client.multi() });
`;
  expect(await compileUses("upstash", uses)).toBe("");
});
