import amqplib from "amqplib";
import { rabbitmqQueue } from "identity-gateway-webhooks/rabbitmq";

export const openQueue = ({ url }, queueName) =>
  rabbitmqQueue({ connect: () => amqplib.connect(url), queueName });
