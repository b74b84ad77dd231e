import { Queue, Worker } from "bullmq";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import express from "express";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver, memoryStore, type DeliveryStore } from "identity-gateway-webhooks";
import { bullmqQueue } from "identity-gateway-webhooks/bullmq";
import { expressHandler } from "identity-gateway-webhooks/express";
import { inbox, inboxConsume } from "identity-gateway-webhooks/inbox";
import { nodeHandler } from "identity-gateway-webhooks/node";
import { openTelemetry } from "identity-gateway-webhooks/opentelemetry";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import { listenHttp } from "../../support/servers.js";

/** Metrics that begin at 0, as those of a new process. */
function newMetrics() {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  return {
    /** For the receiver, the inbox and the worker. */
    telemetry: openTelemetry({ meterProvider, spans: false }),
    /** Answers `GET /metrics`. */
    serveMetrics: (req: IncomingMessage, res: ServerResponse) => {
      exporter.getMetricsRequestHandler(req, res);
    },
  };
}

/** Starts a server on a free port of 127.0.0.1. */
async function startServer(server: Server) {
  const { port, url, close } = await listenHttp(server);
  return { port, url: `${url}/webhooks/gateway`, close };
}

/** What can be wrong with a deployment of the app. */
interface Deployment {
  readonly secret?: string;
  /** How far its clock is off. */
  readonly clockOffMs?: number;
  readonly maxConcurrentDeliveries?: number;
  readonly handlerTimeoutMs?: number;
  /** A body parser before the receiver. */
  readonly parsesBodies?: boolean;
}

/** What the handlers do at the moment: how long they take, and which event type they fail for. */
interface Work {
  delayMs: number;
  failsFor: string | undefined;
}

/** A partner's app: Express, a receiver on a store, and `/metrics`. */
export type DemoApp = Awaited<ReturnType<typeof startDemoApp>>;

/** Starts the app on a free port of 127.0.0.1. */
export async function startDemoApp(store: DeliveryStore) {
  const work: Work = { delayMs: 0, failsFor: undefined };
  const handle = async ({ type }: { readonly type?: string }) => {
    if (work.delayMs > 0) await wait(work.delayMs);
    if (type !== undefined && type === work.failsFor) throw new Error("a planted failure");
  };

  const version = (deployment: Deployment) => {
    const { secret = TEST_SECRET, clockOffMs = 0, parsesBodies = false, ...limits } = deployment;
    const { telemetry, serveMetrics } = newMetrics();
    const receiver = createWebhookReceiver({
      secret,
      store,
      telemetry,
      logger: false,
      now: () => Date.now() + clockOffMs,
      ...limits,
      handlers: {
        new_alarm: () => handle({}),
        // Without "*": a type that the gateway adds is not handled.
        delete_my_data_event: { DATA_DELETED: handle, DATA_REAPPEARED: handle },
      },
    });
    const app = express();
    app.get("/metrics", serveMetrics);
    if (parsesBodies) app.use(express.json());
    return app.post("/webhooks/gateway", expressHandler(receiver));
  };

  let running = version({});
  const server = await startServer(createServer((req, res) => void running(req, res)));
  return {
    ...server,
    work,
    /** Replaces the running version. Its metrics begin at 0, as those of a new process. */
    deploy(deployment: Deployment) {
      running = version(deployment);
    },
  };
}

/** A partner's app with an inbox: a receiver that writes jobs, and a worker that runs them. */
export type InboxApp = Awaited<ReturnType<typeof startInboxApp>>;

/** Starts the app on a free port of 127.0.0.1, with a queue in the Redis at `redisPort`. */
export async function startInboxApp(redisPort: number) {
  const connection = { host: "127.0.0.1", port: redisPort, maxRetriesPerRequest: null };
  const { telemetry, serveMetrics } = newMetrics();
  const queue = new Queue("gateway-deliveries", { connection });
  queue.on("error", () => undefined);
  await queue.waitUntilReady();
  const driver = bullmqQueue({ queue, Worker, workerOptions: { connection } });
  let isFailing = false;

  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    telemetry,
    logger: false,
    handlers: inbox({ driver, telemetry }),
  });
  const handle = () => {
    if (isFailing) throw new Error("a planted failure");
  };
  const { stop } = inboxConsume({
    driver,
    store: memoryStore(),
    retryLimit: 0,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    telemetry,
    logger: false,
  });

  const handleWebhook = nodeHandler(receiver);
  const server = await startServer(
    createServer((req, res) => {
      if (req.url === "/metrics") serveMetrics(req, res);
      else void handleWebhook(req, res);
    }),
  );
  return {
    ...server,
    /** While true, each job fails, and is dead at once: the queue tries each job once. */
    setFailing(fails: boolean) {
      isFailing = fails;
    },
    /** Runs the dead jobs again, as the runbook says. */
    replayDead: () => driver.replay("all"),
    async close() {
      await server.close();
      await receiver.drain({ timeoutMs: 5_000 });
      await stop();
      await queue.close();
    },
  };
}
