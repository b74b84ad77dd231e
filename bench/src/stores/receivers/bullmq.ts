import { Queue } from "bullmq";
import { Redis } from "ioredis";
import type * as bullmqInbox from "identity-gateway-webhooks/bullmq";
import type * as inboxes from "identity-gateway-webhooks/inbox";
import type { Contenders } from "./contender.js";

/** The inbox on BullMQ beside one `XADD`, which leaves it to the consumer to find duplicates. */
export const throughBullmq: Contenders = {
  async ours(load, { port, database }) {
    const { inbox } = await load<typeof inboxes>("inbox");
    const { bullmqQueue } = await load<typeof bullmqInbox>("bullmq");
    const connection = { host: "127.0.0.1", port, db: Number(database) };
    const queue = new Queue("gateway-deliveries", { connection });
    queue.on("error", () => undefined);
    await queue.waitUntilReady();
    return { newAlarm: inbox({ driver: bullmqQueue({ queue }) }).new_alarm };
  },
  byHand({ port, database }) {
    const client = new Redis(port, "127.0.0.1", { db: Number(database) });
    return Promise.resolve(async (id, type, body) => {
      const added = await client.xadd("jobs", "*", "id", id, "type", type, "body", body);
      return added !== null;
    });
  },
};
