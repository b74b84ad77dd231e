import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import type { WebhookReceiver } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";

/** A receiver on a port of 127.0.0.1. */
export interface Endpoint {
  readonly url: string;
  readonly port: number;
  /** Resolves when the running deliveries have settled and no connection is left. */
  readonly close: () => Promise<void>;
}

/** Mounts a receiver on an Express server. By default on a free port. */
export async function serve(receiver: WebhookReceiver, port = 0): Promise<Endpoint> {
  const app = express();
  app.all("/webhooks/gateway", expressHandler(receiver));
  const server = app.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/webhooks/gateway`,
    port: address.port,
    async close() {
      await receiver.drain();
      server.close();
      await once(server, "close");
    },
  };
}
