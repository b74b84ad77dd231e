import { Redis } from "ioredis";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import type { LambdaResult, LambdaEvent } from "../../adapters/aws-lambda/http-event.js";
import { createGatewayTwin, createScaledClock, sampleAlarm } from "../../kit/index.js";
import { delivery, TEST_SECRET } from "../support/deliveries.js";
import { EVENT_FORMS } from "../support/lambda/event-forms.js";
import { unexplained, type LedgerEntry } from "../support/lambda/frozen-ledger.js";
import { deployFunction } from "../support/lambda/lambda-function.js";
import { startFront } from "../support/lambda/lambda-front.js";
import { installPlatform } from "../support/platform-packages.js";
import { describeRedis } from "../support/redis/redis-describe.js";
import { startRedisServer } from "../support/redis/redis-server.js";

const sourceOf = (file: string): string =>
  fileURLToPath(new URL(`../support/lambda/${file}`, import.meta.url));

const DELIVERIES = 1_000;
const TIMEOUT_MS = 2_000;
const LEASE_MS = 2_000;
/** What the first run does, and of how many deliveries. The first run of all others is quick. */
const KINDS = { stuck: 5, overlong: 8, slow: 12, failing: 40 };

/** Ten seconds of the gateway's schedule take 100 ms. There are attempts enough for every lease to end. */
const RETRY = { attempts: 60, firstDelayMs: 10_000, factor: 1.5, maxDelayMs: 60_000 };
const FAULTS = { duplicateRate: 0.03, concurrentDuplicateRate: 0.03, lostAnswerRate: 0.03 };

const ODD_KINDS = Object.entries(KINDS).flatMap(([kind, count]) =>
  Array.from({ length: count }, () => kind),
);

/** What the first run of a delivery does: every fifteenth is one of the odd kinds, in mixed order. */
function kindOf(index: number): string {
  const kind = index % 15 === 0 ? (index / 15) * 7 : Infinity;
  return ODD_KINDS[kind < 7 * ODD_KINDS.length ? kind % ODD_KINDS.length : -1] ?? "quick";
}

const idOf = (event: object): string => (event as LambdaEvent).headers?.["x-webhook-id"] ?? "";

describeRedis("a function whose instances are frozen between invocations", () => {
  it("handles a thousand deliveries with retries: none is lost, and none is doubled unless its instance was killed", async () => {
    const redis = await startRedisServer();
    onTestFinished(redis.close);
    const [httpApi] = EVENT_FORMS;
    const deployed = await deployFunction({
      source: sourceOf("frozen-function-handler.ts"),
      instances: 2,
      timeoutMs: TIMEOUT_MS,
      // Long enough that another instance takes over what this one has given up.
      restAfter: (result) => ((result as LambdaResult).statusCode === 503 ? LEASE_MS + 1_000 : 0),
      environment: {
        REDIS_PORT: String(redis.port),
        GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
        LEASE_MS: String(LEASE_MS),
        SLOW_MS: "700",
        OVERLONG_MS: String(TIMEOUT_MS + 500),
      },
    });
    onTestFinished(deployed.stop);
    if (httpApi === undefined) throw new Error("there is no form of event");
    const front = await startFront(httpApi, deployed.invoke);
    onTestFinished(front.close);

    const twin = createGatewayTwin({
      target: front.url,
      secret: TEST_SECRET,
      retry: RETRY,
      faults: FAULTS,
      seed: 7,
      clock: createScaledClock(100),
    });
    onTestFinished(twin.close);
    const events = Array.from({ length: DELIVERIES }, (_, index) => ({
      alarm: sampleAlarm({ text: kindOf(index) }),
    }));
    const report = await twin.deliverMany(events, { concurrency: 2 });

    const client = new Redis(redis.port);
    const lines = await client.lrange("ledger", 0, -1);
    client.disconnect();
    const ledger = lines.map((line) => JSON.parse(line) as LedgerEntry);
    const killed = deployed.failures.map(({ event }) => idOf(event));
    const acknowledged = new Set(report.deliveries.map(({ id }) => id));

    expect(report).toMatchObject({ acknowledged: DELIVERIES, lost: [] });
    expect(unexplained(ledger, { acknowledged, killed })).toEqual([]);
    expect(deployed.failures.map(({ kind }) => kind)).toEqual(
      Array.from({ length: KINDS.stuck }, () => "timeout"),
    );
    expect(deployed.instances.length).toBeGreaterThan(KINDS.stuck);
    const freezes = deployed.instances.reduce((sum, instance) => sum + instance.freezes(), 0);
    expect(freezes).toBeGreaterThan(DELIVERIES);
    const outcomes = new Set(twin.history().map(({ outcome }) => outcome));
    for (const outcome of ["handled", "duplicate", "in_flight", "handler_timeout"]) {
      expect(outcomes).toContain(outcome);
    }
  });

  it.each(["hono", "fastify", "express"])(
    "answer a delivery through the wrapper of %s when its slow handler has ended, and no effect is doubled",
    async (wrapper) => {
      const redis = await startRedisServer();
      onTestFinished(redis.close);
      const packages = await installPlatform("lambda");
      const deployed = await deployFunction({
        source: sourceOf("wrapped-function-handler.ts"),
        build: { nodePaths: [fileURLToPath(new URL("node_modules", packages))] },
        instances: 2,
        timeoutMs: 30_000,
        // Meanwhile another instance takes over what this one has given up.
        restAfter: (result) => ((result as LambdaResult).statusCode === 503 ? 3_000 : 0),
        environment: {
          REDIS_PORT: String(redis.port),
          GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
          LEASE_MS: "1000",
          SLOW_MS: "1000",
          WRAPPER: wrapper,
        },
      });
      onTestFinished(deployed.stop);
      const send = async (id: string): Promise<number> => {
        const { headers, body } = await delivery({ id, timestamp: Math.floor(Date.now() / 1000) });
        const lines = Object.entries(headers);
        const request = { method: "POST", headers: lines, body: Buffer.from(body) };
        const event = EVENT_FORMS[0]?.eventOf(request) ?? {};
        return ((await deployed.invoke(event)) as LambdaResult).statusCode;
      };
      const sent = await send("first");
      if (sent !== 200) {
        // The lease ends, another instance takes over, and the first one is thawed.
        await wait(1_500);
        await send("first");
        await wait(2_000);
      }
      await Promise.all([send("second"), send("third")]);

      const client = new Redis(redis.port);
      const lines = await client.lrange("ledger", 0, -1);
      client.disconnect();
      const ledger = lines.map((line) => JSON.parse(line) as LedgerEntry);
      const acknowledged = new Set(["first", "second", "third"]);
      expect(unexplained(ledger, { acknowledged, killed: [] })).toEqual([]);
      expect(sent).toBe(200);
    },
  );
});
