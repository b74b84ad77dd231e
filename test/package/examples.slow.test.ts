import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LambdaResult } from "../../adapters/aws-lambda/http-event.js";
import { d1Schema } from "../../src/inbox/cloudflare/index.js";
import { bundleWorker } from "../support/cloudflare/bundle-worker.js";
import {
  type Miniflare,
  missingMiniflare,
  startMiniflare,
} from "../support/cloudflare/miniflare.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { type DynaliteServer, startDynalite } from "../support/dynamodb/dynamodb.js";
import { EVENT_FORMS } from "../support/lambda/event-forms.js";
import { type LambdaFunction, deployFunction } from "../support/lambda/lambda-function.js";
import {
  DUPLICATE,
  type ExampleProcess,
  type FreshDelivery,
  HANDLED,
  freshAlarm,
  freshEvent,
  post,
  requestOf,
  startExample,
} from "../support/package/example-process.js";
import { installPlatform } from "../support/platform-packages.js";
import { describeRedis } from "../support/redis/redis-describe.js";
import { type RedisServer, startRedisServer } from "../support/redis/redis-server.js";

describe.each(["express.ts", "fastify.ts", "koa.ts", "hono.ts", "node.ts", "fetch.ts"])(
  "examples/%s",
  (file) => {
    let example: ExampleProcess;

    beforeAll(async () => {
      example = await startExample(file);
    });
    afterAll(() => example.kill());

    it(`examples/${file} runs its handlers once for each alarm and event, and exits by itself on SIGTERM`, async () => {
      const alarm = await freshAlarm();
      const reappeared = await freshEvent("DATA_REAPPEARED");
      const deleted = await freshEvent("DATA_DELETED");
      for (const sent of [alarm, reappeared, deleted]) {
        expect(await post(example.url, sent)).toEqual(HANDLED);
      }
      expect(await post(example.url, alarm)).toEqual(DUPLICATE);
      expect(await example.terminate()).toEqual([0, null]);
      const said = file === "express.ts" ? "data is back on site 7" : "DATA_REAPPEARED";
      expect(example.printed).toEqual([
        `${alarm.id}: email_hacked, severity High`,
        `${reappeared.id}: ${said}`,
        `${deleted.id}: DATA_DELETED`,
      ]);
    });
  },
);

describe("examples/dynamodb.ts", () => {
  /** Where the example finds the SDK. A partner has it in the project's own node_modules. */
  const modules = fileURLToPath(new URL("../../examples/node_modules/", import.meta.url));
  let server: DynaliteServer;

  beforeAll(async () => {
    const root = await installPlatform("dynamodb");
    rmSync(modules, { recursive: true, force: true });
    mkdirSync(modules);
    symlinkSync(fileURLToPath(new URL("node_modules/@aws-sdk", root)), `${modules}@aws-sdk`, "dir");
    server = await startDynalite();
  });
  afterAll(async () => {
    await server.close();
    rmSync(modules, { recursive: true });
  });

  it("examples/dynamodb.ts handles each alarm once, also after kill -9, and shuts down in order on SIGTERM", async () => {
    const start = () =>
      startExample("dynamodb.ts", {
        AWS_ENDPOINT_URL_DYNAMODB: server.url,
        AWS_REGION: "eu-central-1",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
        CREATE_TABLE: "true",
      });
    const first = await start();
    const sent = await freshAlarm();
    expect(await post(first.url, sent)).toEqual(HANDLED);
    expect(await post(first.url, sent)).toEqual(DUPLICATE);
    expect(first.printed).toEqual([`${sent.id}: email_hacked, severity High`]);
    await first.kill();
    const second = await start();
    expect(await post(second.url, sent)).toEqual(DUPLICATE);
    const later = await freshAlarm();
    expect(await post(second.url, later)).toEqual(HANDLED);
    expect(await second.terminate()).toEqual([0, null]);
    expect(second.printed).toEqual([`${later.id}: email_hacked, severity High`]);
  });
});

describeService("examples/cloudflare.ts", missingMiniflare, () => {
  let running: Miniflare;

  beforeAll(async () => {
    const script = await bundleWorker(new URL("../../examples/cloudflare.ts", import.meta.url));
    const bindings = { GATEWAY_WEBHOOK_SECRET: TEST_SECRET };
    running = await startMiniflare({
      workers: [{ script, d1Databases: { DB: "db" }, bindings }],
    });
    const database = await running.getD1Database("DB");
    await database.prepare(d1Schema()).run();
    await database
      .prepare("CREATE TABLE alarms (delivery_id TEXT PRIMARY KEY, account_id, event_type)")
      .run();
  });
  afterAll(() => running.dispose());

  async function statusOf(path: string, sent: FreshDelivery): Promise<number> {
    return (await running.dispatchFetch(`http://worker${path}`, sent)).status;
  }

  it("examples/cloudflare.ts writes an alarm once, and answers 404 at other paths", async () => {
    const sent = await freshAlarm();
    expect(await statusOf("/webhooks/gateway", sent)).toBe(200);
    expect(await statusOf("/webhooks/gateway", sent)).toBe(200);
    expect(await statusOf("/", sent)).toBe(404);
    const database = await running.getD1Database("DB");
    const { results } = await database.prepare("SELECT * FROM alarms").all();
    expect(results).toEqual([{ delivery_id: sent.id, account_id: 42, event_type: "email_hacked" }]);
  });

  it("examples/cloudflare.ts deletes what is past its retention by its cron trigger", async () => {
    const database = await running.getD1Database("DB");
    await database.prepare("INSERT INTO gateway_deliveries VALUES ('old', NULL, NULL, 0, 1)").run();
    await (await running.getWorker()).scheduled({ cron: "17 * * * *" });
    const { results } = await database
      .prepare("SELECT key FROM gateway_deliveries WHERE key = 'old'")
      .all();
    expect(results).toEqual([]);
  });
});

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
    const source = fileURLToPath(new URL("../../examples/aws-lambda.ts", import.meta.url));
    deployed = await deployFunction({ source, instances: 2, timeoutMs: 10_000, environment });
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
});
