import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LambdaResult } from "../../adapters/aws-lambda/http-event.js";
import { TEST_SECRET, alarm } from "../support/deliveries.js";
import { EVENT_FORMS } from "../support/lambda/event-forms.js";
import { deployFunction, type LambdaFunction } from "../support/lambda/lambda-function.js";
import { freshAlarm, freshEvent, requestOf } from "../support/package/example-process.js";
import { describeRedis } from "../support/redis/redis-describe.js";
import { startRedisServer, type RedisServer } from "../support/redis/redis-server.js";

const SOURCE = fileURLToPath(new URL("../../examples/aws-lambda.ts", import.meta.url));

describeRedis("examples/aws-lambda.ts", () => {
  let redis: RedisServer;
  let deployed: LambdaFunction;
  const printed = () => deployed.instances.map(({ output }) => output()).join("");
  const outcomeOf = async (event: object) => {
    const { statusCode, body } = (await deployed.invoke(event)) as LambdaResult;
    return [statusCode, body];
  };

  beforeAll(async () => {
    redis = await startRedisServer();
    const environment = { REDIS_URL: redis.url, GATEWAY_WEBHOOK_SECRET: TEST_SECRET };
    deployed = await deployFunction({
      source: SOURCE,
      instances: 2,
      timeoutMs: 10_000,
      environment,
    });
  });

  afterAll(async () => {
    await deployed.stop();
    await redis.close();
  });

  it.each(EVENT_FORMS)(
    "examples/aws-lambda.ts handles an alarm once that comes as an event of $name",
    async ({ eventOf }) => {
      const sent = await freshAlarm();
      const event = eventOf(requestOf(sent));
      expect(await outcomeOf(event)).toEqual([200, '{"outcome":"handled"}']);
      expect(await outcomeOf(event)).toEqual([200, '{"outcome":"duplicate"}']);
      expect(printed().split(`${sent.id}: email_hacked, severity High`)).toHaveLength(2);
    },
  );

  it("examples/aws-lambda.ts handles an Online Data event", async () => {
    const sent = await freshEvent("DATA_DELETED");
    const event = EVENT_FORMS[0]?.eventOf(requestOf(sent)) ?? {};
    expect(await outcomeOf(event)).toEqual([200, '{"outcome":"handled"}']);
    expect(printed()).toContain(`${sent.id}: DATA_DELETED`);
  });

  it("examples/aws-lambda.ts refuses a delivery with a changed body", async () => {
    const sent = await freshAlarm();
    const body = JSON.stringify({ alarm: alarm({ account_id: 43 }) });
    const event = EVENT_FORMS[0]?.eventOf(requestOf({ ...sent, body })) ?? {};
    const [status, answer] = await outcomeOf(event);
    expect([status, answer]).toEqual([409, expect.stringContaining("SIGNATURE_MISMATCH")]);
    expect(printed()).not.toContain(sent.id);
  });

  it("examples/aws-lambda.ts fails for an event that is no HTTP request", async () => {
    await expect(deployed.invoke({ Records: [] })).rejects.toThrow("no HTTP");
  });
});
