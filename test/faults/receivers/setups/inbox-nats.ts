import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { natsQueue } from "identity-gateway-webhooks/nats";
import { withBroker } from "../broker-worker.js";
import { QUEUE } from "../receiver-config.js";

/** Connects as soon as the server is up. */
export const makeReceiver = withBroker(async ({ port }) => {
  const connection = await connect({
    servers: `127.0.0.1:${port}`,
    waitOnFirstConnect: true,
    ignoreClusterUpdates: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
    pingInterval: 1_000,
    timeout: 1_000,
  });
  const client = jetstream(connection, { timeout: 1_000 });
  return natsQueue({ connection, jetstream: client, queueName: QUEUE });
});
