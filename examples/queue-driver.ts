// A driver for an engine of your own, whose client is `queue` here. Test it with queueDriverContract.
import { createWebhookReceiver, memoryStore } from "identity-gateway-webhooks";
import {
  inbox,
  inboxConsume,
  type InboxJob,
  type QueueDriver,
} from "identity-gateway-webhooks/inbox";

declare const queue: {
  write(job: InboxJob): Promise<void>; // resolves when the job is on disk
  subscribe(
    limits: { most: number; hideMs: number },
    take: (job: { id: string; data: unknown; receipts: number }) => Promise<void>,
  ): () => Promise<void>;
  hide(id: string, ms: number, receipts?: number): Promise<boolean>; // sets the count, if given
  remove(id: string): Promise<boolean>;
  bury(id: string, reason: string): Promise<boolean>;
};

const driver: QueueDriver = {
  name: "gateway-deliveries",
  extends: "message",
  put: (job) => queue.write(job),
  receive(run, { concurrency, leaseMs }) {
    const limits = { most: concurrency, hideMs: leaseMs };
    const stop = queue.subscribe(limits, ({ id, data, receipts }) =>
      run({
        id,
        data,
        attempt: receipts,
        extend: (ms) => queue.hide(id, ms),
        settle(settlement) {
          if (settlement.result === "done") return queue.remove(id);
          if (settlement.result === "dead") return queue.bury(id, settlement.error.message);
          // A run that did not fail is no attempt: another worker has the delivery, or the store is away.
          const isFailed = settlement.error !== undefined;
          return queue.hide(id, settlement.afterMs, isFailed ? receipts : receipts - 1);
        },
      }),
    );
    return { stop };
  },
};

export const receiver = createWebhookReceiver({
  secret: process.env["GATEWAY_WEBHOOK_SECRET"],
  handlers: inbox({ driver }),
});
export const worker = inboxConsume({
  driver,
  store: memoryStore(), // in production one that all workers share
  handlers: { new_alarm: (alarm) => console.log(alarm.id) },
});
