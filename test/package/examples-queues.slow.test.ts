import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TEST_SECRET, signedDelivery } from "../../kit/index.js";
import { foldersFor } from "../engines.js";
import { missingMiniflare } from "../support/cloudflare/miniflare.js";
import { describeService } from "../support/describe-service.js";
import {
  describeBullmq,
  describeNats,
  describePgBoss,
  describeRabbitmq,
  postgresUrl,
} from "../support/inbox/inbox-engines.js";
import { eventually } from "../support/listening-receiver.js";
import { startNatsServer } from "../support/nats/nats-server.js";
import {
  DUPLICATE,
  type ExampleProcess,
  HANDLED,
  freshAlarm,
  freshEvent,
  post,
  startExample,
} from "../support/package/example-process.js";
import { textOf } from "../support/package/sources.js";
import { installPlatform } from "../support/platform-packages.js";
import { startPostgres } from "../support/postgres/postgres-server.js";
import { startRabbitmq } from "../support/rabbitmq/rabbitmq-server.js";
import { startRedisServer } from "../support/redis/redis-server.js";
import { startedForAll } from "../support/started-for-all.js";

interface Service {
  readonly variables: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

async function postgres(): Promise<Service> {
  const { port, close } = await startPostgres();
  return { variables: { DATABASE_URL: postgresUrl(port) }, close };
}

async function redis(): Promise<Service> {
  // As BullMQ and docs/stores/redis.md require.
  const settings = { appendonly: "yes", appendfsync: "always", "maxmemory-policy": "noeviction" };
  const { port, close } = await startRedisServer(settings);
  return { variables: { REDIS_PORT: String(port) }, close };
}

/** A queue by its variable, and Redis for the store. */
async function besideRedis(
  variable: string,
  start: () => Promise<{ readonly url: string; readonly close: () => Promise<void> }>,
): Promise<Service> {
  const [{ variables, close }, server] = await Promise.all([redis(), start()]);
  return {
    variables: { ...variables, [variable]: server.url },
    close: async () => {
      await Promise.all([server.close(), close()]);
    },
  };
}

const EXAMPLES = [
  ["inbox-pg-boss.ts", describePgBoss, postgres],
  ["inbox-bullmq.ts", describeBullmq, redis],
  ["inbox-nats.ts", describeNats, () => besideRedis("NATS_URL", startNatsServer)],
  ["inbox-rabbitmq.ts", describeRabbitmq, () => besideRedis("AMQP_URL", startRabbitmq)],
] as const;

for (const [file, describeExample, startService] of EXAMPLES) {
  describeExample(`examples/${file}`, () => {
    const service = startedForAll(startService);
    let example: ExampleProcess;
    beforeEach(async () => {
      example = await startExample(file, service().variables);
    });
    // A kill can come before a run that has printed is completed, and the next process would print it again.
    afterEach(() => example.terminate());

    queueExampleCases(file, () => example);

    it(`examples/${file} recognizes the job in another process, whose receiver has not seen the delivery`, async () => {
      const sent = await freshAlarm();
      expect(await post(example.url, sent)).toEqual(HANDLED);
      await eventually(() => example.printed).toContain(`${sent.id}: email_hacked, severity High`);
      await example.terminate();
      example = await startExample(file, service().variables);
      // The delivery is new to this receiver, but its job already exists.
      expect(await post(example.url, sent)).toEqual(HANDLED);
      const later = await freshAlarm();
      expect(await post(example.url, later)).toEqual(HANDLED);
      await eventually(() => example.printed).toContain(`${later.id}: email_hacked, severity High`);
      expect(await example.terminate()).toEqual([0, null]);
      expect(example.printed).toEqual([`${later.id}: email_hacked, severity High`]);
    });

    it(`examples/${file} shuts down in order on SIGTERM, and the next process handles the acknowledged jobs`, async () => {
      const sent = await Promise.all(Array.from({ length: 30 }, () => freshAlarm()));
      for (const one of sent) expect(await post(example.url, one)).toEqual(HANDLED);
      expect(await example.terminate()).toEqual([0, null]);
      const before = example.printed;
      example = await startExample(file, service().variables);
      const printed = () => [...before, ...example.printed].sort();
      // A run that SIGTERM cut off is repeated after 10 s.
      await expect
        .poll(printed, { interval: 20, timeout: 45_000 })
        .toEqual(sent.map(({ id }) => `${id}: email_hacked, severity High`).sort());
    });

    it(`examples/${file} completes a record that doctor made up and no version knows, and no real one`, async () => {
      const [real, madeUp] = [randomUUID(), `7e57da7a${randomUUID().slice(8)}`];
      for (const id of [real, madeUp]) {
        const body = JSON.stringify({ new_thing: {} });
        const sent = await signedDelivery({ secret: TEST_SECRET, id, type: "new_thing", body });
        expect((await fetch(example.url, sent)).status).toBe(200);
      }
      await eventually(() => example.printed).toContain(
        `${madeUp}: made up, not a documented new_thing`,
      );
      // The jobs are taken in their order.
      expect(example.printed.filter((line) => line.startsWith(real))).toEqual([]);
    });
  });
}

const STARTERS = [
  ["lambda-sqs.ts", "demo/lambda.ts", 0, describe],
  [
    ...(["workers-queues-d1.ts", "demo/workers.ts", 143] as const),
    (title: string, body: () => void) => describeService(title, missingMiniflare, body),
  ],
] as const;

for (const [file, starter, exitCode, describeExample] of STARTERS) {
  describeExample(`examples/${file}`, () => {
    let example: ExampleProcess;
    beforeAll(async () => {
      // The starter says that it installs them, if they are missing.
      await Promise.all(foldersFor(textOf(`examples/${file}`)).map(installPlatform));
      example = await startExample(starter);
    });
    afterAll(() => example.kill());

    queueExampleCases(file, () => example);

    it(`examples/${file} ends on SIGTERM`, async () => {
      expect(await example.terminate()).toEqual([exitCode, null]);
    });
  });
}

/** What each example that handles its deliveries from a queue must do. */
function queueExampleCases(file: string, example: () => ExampleProcess): void {
  it(`examples/${file} acknowledges an alarm, and handles it once from the queue`, async () => {
    const { url, printed } = example();
    const sent = await freshAlarm();
    expect(await post(url, sent)).toEqual(HANDLED);
    expect(await post(url, sent)).toEqual(DUPLICATE);
    const line = `${sent.id}: email_hacked, severity High`;
    await eventually(() => printed).toContain(line);

    const event = await freshEvent("DATA_REAPPEARED");
    expect(await post(url, event)).toEqual(HANDLED);
    await eventually(() => printed).toContain(`${event.id}: DATA_REAPPEARED`);
    expect(printed.filter((one) => one === line)).toHaveLength(1);
  });

  it(`examples/${file} refuses a delivery with a wrong signature, and finds nothing at another path`, async () => {
    const { url } = example();
    const sent = await freshAlarm();
    const tampered = { ...sent, body: sent.body.replace("42", "43") };
    const refusal = { status: 409, error: { code: "SIGNATURE_MISMATCH" } };
    expect(await post(url, tampered)).toMatchObject(refusal);
    expect((await fetch(new URL("/", url), sent)).status).toBe(404);
  });
}
