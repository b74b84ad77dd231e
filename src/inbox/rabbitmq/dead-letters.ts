import { pause } from "../../common/timers.js";
import type { DeadJob, DeadLetters } from "../dead-deliveries.js";
import { readDeadRecord } from "../dead-record.js";
import { QueueError } from "../queue-error.js";
import { contentNameOf, type AmqpChannel } from "./client.js";
import type { RabbitLink } from "./link.js";

/** How many jobs are read before they are waited for. */
const LOT_SIZE = 100;
const LOCK_RETRY_MS = 200;
const LOCK_TIMEOUT_MS = 60_000;
/** RESOURCE_LOCKED: the queue belongs to another connection. */
const LOCKED = 405;

/**
 * RabbitMQ can only take messages and give them back, so each call reads the dead queue from its start, and has it
 * for itself: a job that another call holds would not be found.
 */
export function deadLettersOf(newLink: () => RabbitLink): DeadLetters {
  /** Gives back what `read` did not acknowledge. */
  const reading = async (
    read: (link: RabbitLink, channel: AmqpChannel) => Promise<void>,
  ): Promise<void> => {
    const link = await lockedLink(newLink);
    try {
      const { channel } = await link.open();
      await read(link, channel);
      // The close does it too, but the next call may come before that.
      channel.nackAll(true);
    } finally {
      await link.close();
    }
  };

  return {
    async list(limit, offset) {
      const listed: DeadJob[] = [];
      await reading(async (link, channel) => {
        for (let read = 0; read < offset + limit; read += 1) {
          const dead = await nextOf(link, channel);
          if (dead === undefined) return;
          if (read >= offset) listed.push(dead.delivery);
        }
      });
      return listed;
    },
    async take(ids, max, then, found) {
      const isWanted = (id: string) => ids === "all" || ids.includes(id);
      await reading(async (link, channel) => {
        const { messageCount } = await channel.checkQueue(link.deadName);
        const isDone = (read: number) =>
          found.size >= max ||
          (read >= messageCount && (ids === "all" || found.size >= ids.length));
        let taking: Promise<void>[] = [];
        for (let read = 0; !isDone(read); read += 1) {
          const dead = await nextOf(link, channel);
          if (dead === undefined) break;
          const { message, content, delivery } = dead;
          // Beyond those that were dead at the start, one that was found has died again. A delivery that died twice
          // before is one, but each of its jobs is put: only its worker knows which of them is handled.
          const isNew = read < messageCount || !found.has(delivery.id);
          if (!isWanted(delivery.id) || !isNew) continue;
          found.add(delivery.id);
          const put = then === "replay" ? link.put(content) : Promise.resolve();
          taking.push(put.then(() => channel.ack(message)));
          if (taking.length < LOT_SIZE) continue;
          await Promise.all(taking);
          taking = [];
        }
        await Promise.all(taking);
      });
    },
  };
}

/** The next dead job. Undefined: there is none. */
async function nextOf({ deadName }: RabbitLink, channel: AmqpChannel) {
  const message = await channel.get(deadName);
  if (message === false) return undefined;
  const { content } = message;
  return { message, ...readDeadRecord(content, await contentNameOf(content)) };
}

/** A connection that has the dead queue for itself, by a queue that only one connection can have. */
async function lockedLink(newLink: () => RabbitLink): Promise<RabbitLink> {
  for (let waitedMs = 0; waitedMs < LOCK_TIMEOUT_MS; waitedMs += LOCK_RETRY_MS) {
    const link = newLink();
    const { channel } = await link.open();
    try {
      await channel.assertQueue(`${link.deadName}.lock`, { durable: false, exclusive: true });
      return link;
    } catch (error) {
      await link.close();
      const { code } = Object(error) as { readonly code?: unknown };
      if (code !== LOCKED) throw error;
    }
    await pause(LOCK_RETRY_MS);
  }
  throw new QueueError("another call reads the dead jobs: wait for its end");
}
