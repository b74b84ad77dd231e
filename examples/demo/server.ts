import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createWebhookReceiver, type DeliveryContext } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import type { Ledger } from "./ledger.js";

/** A partner's server, whose handler counts its runs. */
export interface DemoServer {
  readonly url: string;
  /** What the handler does for a delivery id, once it has counted. */
  readonly work: Map<string, () => unknown>;
  readonly close: () => Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startServer({ count }: Ledger): Promise<DemoServer> {
  const work: DemoServer["work"] = new Map();
  const handle = async (record: unknown, context: DeliveryContext): Promise<void> => {
    count(record, context);
    await work.get(context.id)?.();
  };

  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    // The table says it all.
    logger: false,
  });

  const app = express();
  app.post("/webhooks/gateway", expressHandler(receiver));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/webhooks/gateway`,
    work,
    async close() {
      await receiver.drain();
      server.close();
      await once(server, "close");
    },
  };
}
