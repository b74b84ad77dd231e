import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { natsQueue } from "identity-gateway-webhooks/nats";

export async function openQueue(address, queueName) {
  const connection = await connect(address);
  return natsQueue({ connection, jetstream: jetstream(connection), queueName });
}
