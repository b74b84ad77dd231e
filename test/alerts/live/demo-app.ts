import express from "express";
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { createWebhookReceiver, type DeliveryStore } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import { listen } from "../../support/servers.js";
import { newMetrics } from "./measured.js";

/** What can be wrong with a deployment of the app. */
export interface Deployment {
  readonly secret?: string;
  /** How far its clock is off. */
  readonly clockOffMs?: number;
  /** A body parser before the receiver. */
  readonly parsesBodies?: boolean;
}

/** What the handlers do at the moment: how long they take, and which event type they fail for. */
export interface Work {
  delayMs: number;
  failsFor: string | undefined;
}

/** A partner's app: Express, a receiver on a store, and `/metrics`. */
export type DemoApp = Awaited<ReturnType<typeof startDemoApp>>;

/** Starts the app on a free port of 127.0.0.1. */
export async function startDemoApp(store: DeliveryStore) {
  const work: Work = { delayMs: 0, failsFor: undefined };
  const handle = async ({ type }: { readonly type?: string }): Promise<void> => {
    if (work.delayMs > 0) await wait(work.delayMs);
    if (type !== undefined && type === work.failsFor) throw new Error("a planted failure");
  };

  const version = ({ secret = TEST_SECRET, clockOffMs = 0, parsesBodies = false }: Deployment) => {
    const { telemetry, serveMetrics } = newMetrics();
    const receiver = createWebhookReceiver({
      secret,
      store,
      telemetry,
      logger: false,
      now: () => Date.now() + clockOffMs,
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
  const server = createServer((req, res) => {
    running(req, res);
  });
  const { port, close } = await listen(server);
  return {
    port,
    url: `http://127.0.0.1:${port}/webhooks/gateway`,
    work,
    /** Replaces the running version. Its metrics begin at 0, as those of a new process. */
    deploy(deployment: Deployment) {
      running = version(deployment);
    },
    async close() {
      server.closeAllConnections();
      await close();
    },
  };
}
