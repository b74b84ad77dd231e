import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { createWebhookReceiver, type DeliveryContext } from "identity-gateway-webhooks";
import { expressHandler } from "identity-gateway-webhooks/express";
import { SECRET } from "./gateway.js";

/** A partner's server, whose handler counts its runs. */
export interface DemoServer {
  readonly url: string;
  /** How often the handler ran, by delivery id. */
  readonly runs: ReadonlyMap<string, number>;
  /** Makes the next run for this id fail. */
  failOnce(id: string): void;
  /** Makes runs for this id wait until the returned function is called. */
  hold(id: string): () => void;
  close(): Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startServer(): Promise<DemoServer> {
  const runs = new Map<string, number>();
  const failing = new Set<string>();
  const held = new Map<string, Promise<void>>();

  const handle = async (_record: unknown, { id }: DeliveryContext): Promise<void> => {
    runs.set(id, (runs.get(id) ?? 0) + 1);
    if (failing.delete(id)) throw new Error("the demo's handler fails once");
    await held.get(id);
  };

  const receiver = createWebhookReceiver({
    secret: SECRET,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    // The table says it all.
    logger: false,
  });

  const app = express();
  app.post("/webhooks/gateway", expressHandler(receiver));
  const server: Server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/webhooks/gateway`,
    runs,
    failOnce(id) {
      failing.add(id);
    },
    hold(id) {
      let release: () => void = () => undefined;
      held.set(
        id,
        new Promise((resolve) => {
          release = resolve;
        }),
      );
      return release;
    },
    async close() {
      await receiver.drain();
      server.close();
      await once(server, "close");
    },
  };
}
