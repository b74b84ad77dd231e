import { Queue, Worker } from "bullmq";
import { bullmqQueue } from "identity-gateway-webhooks/bullmq";

export function openQueue(connection, name) {
  const queue = new Queue(name, { connection });
  return bullmqQueue({ queue, Worker, workerOptions: { connection } });
}
