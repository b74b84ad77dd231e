import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import type { QueueDriver } from "identity-gateway-webhooks/inbox";
import { natsQueue } from "identity-gateway-webhooks/nats";
import { QUEUE, type ReceiverConfig } from "./receiver-config.js";

/** Connects as soon as the server is up. */
export async function openNats({ port }: ReceiverConfig): Promise<QueueDriver<unknown>> {
  const connection = await connect({
    ...{ servers: `127.0.0.1:${port}`, waitOnFirstConnect: true, ignoreClusterUpdates: true },
    ...{ maxReconnectAttempts: -1, reconnectTimeWait: 50, pingInterval: 1_000, timeout: 1_000 },
  });
  const client = jetstream(connection, { timeout: 1_000 });
  return natsQueue({ connection, jetstream: client, queueName: QUEUE });
}
