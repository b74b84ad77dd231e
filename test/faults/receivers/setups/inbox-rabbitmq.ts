import amqplib from "amqplib";
import { rabbitmqQueue } from "identity-gateway-webhooks/rabbitmq";
import { withBroker } from "../broker-worker.js";
import { QUEUE } from "../receiver-config.js";

/** A connection that is silent for two heartbeats is dead. */
export const makeReceiver = withBroker(({ port }) => {
  const url = `amqp://127.0.0.1:${port}?heartbeat=1`;
  const connect = () => amqplib.connect(url, { timeout: 1_000 });
  return rabbitmqQueue({ connect, queueName: QUEUE });
});
