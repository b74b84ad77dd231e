// What a partner writes on each peer. The project has one of them alone, so each is imported when it is asked for.

/** What a peer and the entry that uses it export. */
const load = async (peer, entry) => ({
  ...(await import(peer)),
  ...(await import(`identity-gateway-webhooks/${entry}`)),
});

const databaseFile = async (peer) => {
  const { default: Database, sqliteStore } = await load(peer, "sqlite");
  return {
    openStore: (_address, name) => sqliteStore({ database: new Database(`${name}.db`) }),
  };
};

/** `mount` or `serve` on a framework, `openStore`, `openQueue`, or `telemetry`. `address`: that of the peer's server. */
export const RECEIVERS = {
  express: async () => {
    const { default: express, expressHandler } = await load("express", "express");
    return { mount: (receiver, path) => express().all(path, expressHandler(receiver)) };
  },
  fastify: async () => {
    const { default: fastify } = await import("fastify");
    const { createWebhookReceiver, fastifyPlugin } = await load(
      "identity-gateway-webhooks",
      "fastify",
    );
    return {
      async serve(options, path, port) {
        const app = fastify();
        app.register(fastifyPlugin, { receiver: createWebhookReceiver(options), path });
        await app.listen({ port, host: "127.0.0.1" });
      },
    };
  },
  hono: async () => {
    const { getRequestListener } = await import("@hono/node-server");
    const { Hono, honoHandler } = await load("hono", "hono");
    return {
      mount: (receiver, path) =>
        getRequestListener(new Hono().all(path, honoHandler(receiver)).fetch),
    };
  },
  koa: async () => {
    const { default: Koa, koaHandler } = await load("koa", "koa");
    return { mount: (receiver) => new Koa().use(koaHandler(receiver)).callback() };
  },
  nestjs: async () => {
    await import("reflect-metadata");
    const { Module } = await import("@nestjs/common");
    const { NestFactory, OnAlarm, WebhookReceiverModule } = await load("@nestjs/core", "nestjs");
    return {
      async serve({ secret, handlers }, path, port) {
        class Handlers {
          alarm(alarm, context) {
            handlers.new_alarm(alarm, context);
          }
        }
        // By hand what the decorators of TypeScript do.
        const { prototype } = Handlers;
        OnAlarm()(prototype, "alarm", Object.getOwnPropertyDescriptor(prototype, "alarm"));
        class App {}
        const module = WebhookReceiverModule.forRoot({ path, secret });
        Module({ imports: [module], providers: [Handlers] })(App);
        const app = await NestFactory.create(App, { logger: false });
        await app.listen(port, "127.0.0.1");
      },
    };
  },
  "better-sqlite3": () => databaseFile("better-sqlite3"),
  libsql: () => databaseFile("libsql"),
  pg: async () => {
    const { default: pg, postgresStore } = await load("pg", "postgres");
    return {
      async openStore({ url }, table) {
        const store = postgresStore({ pool: new pg.Pool({ connectionString: url }), table });
        await store.migrate();
        return store;
      },
    };
  },
  mysql2: async () => {
    const { default: mysql, mysqlStore } = await load("mysql2/promise", "mysql");
    return {
      async openStore(address, table) {
        const pool = mysql.createPool({ ...address, user: "root", database: "test" });
        const store = mysqlStore({ pool, table });
        await store.migrate();
        return store;
      },
    };
  },
  ioredis: async () => {
    const ioredis = await import("ioredis");
    const { redisStore } = await import("identity-gateway-webhooks/redis");
    const { Redis = ioredis.default } = ioredis;
    return { openStore: (address) => redisStore({ client: new Redis(address) }) };
  },
  redis: async () => {
    const { createClient, redisStore } = await load("redis", "redis");
    return {
      async openStore(socket) {
        const client = createClient({ socket });
        const store = redisStore({ client });
        await client.connect();
        return store;
      },
    };
  },
  upstash: async () => {
    const { Redis, redisStore } = await load("@upstash/redis", "redis");
    return {
      openStore: (address) =>
        redisStore({ client: new Redis({ ...address, automaticDeserialization: false }) }),
    };
  },
  dynamodb: async () => {
    const { DynamoDB, createDynamoTable, dynamoStore } = await load(
      "@aws-sdk/client-dynamodb",
      "dynamodb",
    );
    return {
      async openStore({ url: endpoint }, table) {
        const credentials = { accessKeyId: "a", secretAccessKey: "s" };
        const client = new DynamoDB({ endpoint, region: "eu-central-1", credentials });
        const store = dynamoStore({ client, table });
        await createDynamoTable({ client, table });
        return store;
      },
    };
  },
  bullmq: async () => {
    const { Queue, Worker, bullmqQueue } = await load("bullmq", "bullmq");
    return {
      openQueue(connection, name) {
        const queue = new Queue(name, { connection });
        return bullmqQueue({ queue, Worker, workerOptions: { connection } });
      },
    };
  },
  "pg-boss": async () => {
    const { PgBoss, pgBossQueue } = await load("pg-boss", "pg-boss");
    return {
      async openQueue({ url }, schema) {
        const boss = new PgBoss({ connectionString: url, schema });
        boss.on("error", () => undefined);
        const driver = pgBossQueue({ boss, pollIntervalMs: 100 });
        await boss.start();
        return driver;
      },
    };
  },
  nats: async () => {
    const { jetstream } = await import("@nats-io/jetstream");
    const { connect, natsQueue } = await load("@nats-io/transport-node", "nats");
    return {
      async openQueue(address, queueName) {
        const connection = await connect(address);
        return natsQueue({ connection, jetstream: jetstream(connection), queueName });
      },
    };
  },
  rabbitmq: async () => {
    const { default: amqplib, rabbitmqQueue } = await load("amqplib", "rabbitmq");
    return {
      openQueue: ({ url }, queueName) =>
        rabbitmqQueue({ connect: () => amqplib.connect(url), queueName }),
    };
  },
  sqs: async () => {
    const { SQS, sqsQueue } = await load("@aws-sdk/client-sqs", "sqs");
    return {
      async openQueue({ url: endpoint }, name) {
        const credentials = { accessKeyId: "test", secretAccessKey: "test" };
        const client = new SQS({ endpoint, region: "us-east-1", credentials });
        const { QueueUrl: queueUrl } = await client.createQueue({ QueueName: name });
        const { QueueUrl: deadQueueUrl } = await client.createQueue({ QueueName: `${name}-dead` });
        return sqsQueue({ client, queueUrl, deadQueueUrl });
      },
    };
  },
  opentelemetry: async () => {
    const { SpanStatusCode, trace, openTelemetry } = await load(
      "@opentelemetry/api",
      "opentelemetry",
    );
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
    return {
      telemetry: openTelemetry({ tracerProvider: { getTracer: () => ({ startSpan }) } }),
      proven: () => SpanStatusCode.UNSET === 0 && spans.includes("process new_alarm"),
    };
  },
};
