import amqplib from "amqplib";
import type { QueueDriver } from "identity-gateway-webhooks/inbox";
import { rabbitmqQueue } from "identity-gateway-webhooks/rabbitmq";
import { QUEUE, type ReceiverConfig } from "./receiver-config.js";

/** A connection that is silent for two heartbeats is dead. */
export function openRabbitmq({ port }: ReceiverConfig): QueueDriver<unknown> {
  const url = `amqp://127.0.0.1:${port}?heartbeat=1`;
  const connect = () => amqplib.connect(url, { timeout: 1_000 });
  return rabbitmqQueue({ connect, queueName: QUEUE });
}
