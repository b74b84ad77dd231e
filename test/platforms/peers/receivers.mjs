// A receiver on each optional peer, as a partner would write it. prove.mjs runs one of them.
import { once } from "node:events";
import { createServer } from "node:http";
import { createWebhookReceiver, memoryStore } from "identity-gateway-webhooks";

const PATH = "/webhooks/gateway";
/** A name that no other run on the same engine has. */
const RUN = process.env.RUN ?? "run";
const PORT = Number(process.env.PORT);
const ENGINE = JSON.parse(process.env.ENGINE ?? "{}");

const url = `http://127.0.0.1:${PORT}${PATH}`;
const redis = { host: "127.0.0.1", port: ENGINE.port };

/** The receiver behind a listener of Node. */
async function served(listener) {
  const server = createServer(listener).listen(PORT, "127.0.0.1");
  await once(server, "listening");
  return { target: url };
}

/** The receiver itself, with a store. */
function stored(options, store) {
  return { target: createWebhookReceiver({ ...options, store }) };
}

async function sqlite(options, Database) {
  const { sqliteStore } = await import("identity-gateway-webhooks/sqlite");
  return stored(options, sqliteStore({ database: new Database(`${RUN}.db`) }));
}

export const receivers = {
  async express(options) {
    const { default: express } = await import("express");
    const { expressHandler } = await import("identity-gateway-webhooks/express");
    return served(express().all(PATH, expressHandler(createWebhookReceiver(options))));
  },

  async fastify(options) {
    const { default: fastify } = await import("fastify");
    const { fastifyPlugin } = await import("identity-gateway-webhooks/fastify");
    const app = fastify();
    app.register(fastifyPlugin, { receiver: createWebhookReceiver(options), path: PATH });
    await app.listen({ port: PORT, host: "127.0.0.1" });
    return { target: url };
  },

  async koa(options) {
    const { default: Koa } = await import("koa");
    const { koaHandler } = await import("identity-gateway-webhooks/koa");
    const app = new Koa();
    app.use(koaHandler(createWebhookReceiver(options)));
    return served(app.callback());
  },

  async hono(options) {
    const { Hono } = await import("hono");
    const { getRequestListener } = await import("@hono/node-server");
    const { honoHandler } = await import("identity-gateway-webhooks/hono");
    const app = new Hono();
    app.all(PATH, honoHandler(createWebhookReceiver(options)));
    return served(getRequestListener(app.fetch));
  },

  async nestjs({ secret, handlers }) {
    await import("reflect-metadata");
    const { Module } = await import("@nestjs/common");
    const { NestFactory } = await import("@nestjs/core");
    const { OnAlarm, WebhookReceiverModule } = await import("identity-gateway-webhooks/nestjs");
    class Handlers {
      alarm(alarm, context) {
        handlers.new_alarm(alarm, context);
      }
    }
    // By hand what the decorators of TypeScript do.
    const { prototype } = Handlers;
    OnAlarm()(prototype, "alarm", Object.getOwnPropertyDescriptor(prototype, "alarm"));
    class App {}
    const module = WebhookReceiverModule.forRoot({ path: PATH, secret });
    Module({ imports: [module], providers: [Handlers] })(App);
    const app = await NestFactory.create(App, { logger: false });
    await app.listen(PORT, "127.0.0.1");
    return { target: url };
  },

  async redis(options) {
    const { createClient } = await import("redis");
    const { redisStore } = await import("identity-gateway-webhooks/redis");
    const client = createClient({ socket: redis });
    const store = redisStore({ client });
    await client.connect();
    return stored(options, store);
  },

  async ioredis(options) {
    const { default: Default, Redis = Default } = await import("ioredis");
    const { redisStore } = await import("identity-gateway-webhooks/redis");
    return stored(options, redisStore({ client: new Redis(redis) }));
  },

  async upstash(options) {
    const { Redis } = await import("@upstash/redis");
    const { redisStore } = await import("identity-gateway-webhooks/redis");
    const client = new Redis({ ...ENGINE, automaticDeserialization: false });
    return stored(options, redisStore({ client }));
  },

  async pg(options) {
    const { default: pg } = await import("pg");
    const { postgresStore } = await import("identity-gateway-webhooks/postgres");
    const pool = new pg.Pool({ connectionString: ENGINE.url });
    const store = postgresStore({ pool, table: RUN });
    await store.migrate();
    return stored(options, store);
  },

  async mysql2(options) {
    const { default: mysql } = await import("mysql2/promise");
    const { mysqlStore } = await import("identity-gateway-webhooks/mysql");
    const pool = mysql.createPool({ ...ENGINE, user: "root", database: "test" });
    const store = mysqlStore({ pool, table: RUN });
    await store.migrate();
    return stored(options, store);
  },

  async "better-sqlite3"(options) {
    const { default: Database } = await import("better-sqlite3");
    return sqlite(options, Database);
  },

  async libsql(options) {
    const { default: Database } = await import("libsql");
    return sqlite(options, Database);
  },

  async dynamodb(options) {
    const { DynamoDB } = await import("@aws-sdk/client-dynamodb");
    const { createDynamoTable, dynamoStore } = await import("identity-gateway-webhooks/dynamodb");
    const credentials = { accessKeyId: "a", secretAccessKey: "s" };
    const client = new DynamoDB({ endpoint: ENGINE.url, region: "eu-central-1", credentials });
    const store = dynamoStore({ client, table: RUN });
    await createDynamoTable({ client, table: RUN });
    return stored(options, store);
  },

  async sqs({ handlers, ...options }) {
    const { SQS } = await import("@aws-sdk/client-sqs");
    const { inbox, inboxConsume } = await import("identity-gateway-webhooks/inbox");
    const { sqsQueue } = await import("identity-gateway-webhooks/sqs");
    const credentials = { accessKeyId: "test", secretAccessKey: "test" };
    const client = new SQS({ endpoint: ENGINE.url, region: "us-east-1", credentials });
    const [queueUrl, deadQueueUrl] = await Promise.all(
      [RUN, `${RUN}-dead`].map(async (name) => {
        return (await client.createQueue({ QueueName: name })).QueueUrl;
      }),
    );
    const driver = sqsQueue({ client, queueUrl, deadQueueUrl });
    inboxConsume({ driver, store: memoryStore(), handlers });
    const maxBodyBytes = 100_000;
    const target = createWebhookReceiver({ ...options, maxBodyBytes, handlers: inbox({ driver }) });
    return { target };
  },

  async "pg-boss"({ handlers, ...options }) {
    const { default: Default, PgBoss = Default } = await import("pg-boss");
    const { inbox, inboxConsume } = await import("identity-gateway-webhooks/inbox");
    const { pgBossQueue } = await import("identity-gateway-webhooks/pg-boss");
    const boss = new PgBoss({ connectionString: ENGINE.url, schema: RUN });
    boss.on("error", () => undefined);
    const driver = pgBossQueue({ boss, schema: RUN, pollIntervalMs: 100 });
    await boss.start();
    inboxConsume({ driver, store: memoryStore(), handlers });
    return { target: createWebhookReceiver({ ...options, handlers: inbox({ driver }) }) };
  },

  async bullmq({ handlers, ...options }) {
    const { Queue, Worker } = await import("bullmq");
    const { bullmqQueue } = await import("identity-gateway-webhooks/bullmq");
    const { inbox, inboxConsume } = await import("identity-gateway-webhooks/inbox");
    const queue = new Queue(RUN, { connection: redis });
    const driver = bullmqQueue({ queue, Worker, workerOptions: { connection: redis } });
    inboxConsume({ driver, store: memoryStore(), handlers });
    return { target: createWebhookReceiver({ ...options, handlers: inbox({ driver }) }) };
  },

  async nats({ handlers, ...options }) {
    const { jetstream } = await import("@nats-io/jetstream");
    const { connect } = await import("@nats-io/transport-node");
    const { inbox, inboxConsume } = await import("identity-gateway-webhooks/inbox");
    const { natsQueue } = await import("identity-gateway-webhooks/nats");
    const connection = await connect({ servers: ENGINE.servers });
    const clients = { connection, jetstream: jetstream(connection) };
    const driver = natsQueue({ ...clients, queueName: RUN });
    inboxConsume({ driver, store: memoryStore(), handlers });
    const maxBodyBytes = 100_000;
    const target = createWebhookReceiver({ ...options, maxBodyBytes, handlers: inbox({ driver }) });
    return { target };
  },

  async rabbitmq({ handlers, ...options }) {
    const { default: amqplib } = await import("amqplib");
    const { inbox, inboxConsume } = await import("identity-gateway-webhooks/inbox");
    const { rabbitmqQueue } = await import("identity-gateway-webhooks/rabbitmq");
    const driver = rabbitmqQueue({ connect: () => amqplib.connect(ENGINE.url), queueName: RUN });
    inboxConsume({ driver, store: memoryStore(), handlers });
    return { target: createWebhookReceiver({ ...options, handlers: inbox({ driver }) }) };
  },

  async opentelemetry(options) {
    const { SpanStatusCode, trace } = await import("@opentelemetry/api");
    const { openTelemetry } = await import("identity-gateway-webhooks/opentelemetry");
    // Not an SDK: each of them allows the API only up to the minor version that it knows.
    const spans = [];
    const startSpan = (name) => {
      const span = trace.wrapSpanContext({
        traceId: "1".repeat(32),
        spanId: "2".repeat(16),
        traceFlags: 1,
      });
      span.end = () => spans.push(name);
      return span;
    };
    const telemetry = openTelemetry({ tracerProvider: { getTracer: () => ({ startSpan }) } });
    const proven = () => SpanStatusCode.UNSET === 0 && spans.includes("process new_alarm");
    return { target: createWebhookReceiver({ ...options, telemetry }), proven };
  },
};
