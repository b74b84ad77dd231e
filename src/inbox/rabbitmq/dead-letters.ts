import type { DeadDelivery, DeadLetters } from "../dead-deliveries.js";
import { jsonOf, readDeadRecord } from "../dead-record.js";
import type { WatchedReplay } from "../growing-replay.js";
import type { AmqpChannel, AmqpMessage } from "./client.js";
import type { RabbitLink } from "./link.js";

/** RabbitMQ can only take messages and give them back, so each call reads the dead queue from its start. */
export function deadLettersOf(link: RabbitLink): DeadLetters {
  /** Calls `visit` with each dead job until it returns false, and gives back all that it did not acknowledge. */
  const visitAll = async (
    visit: (
      record: ReturnType<typeof readDeadRecord>,
      message: AmqpMessage,
      channel: AmqpChannel,
    ) => boolean | Promise<boolean>,
  ): Promise<void> => {
    const { connection } = await link.open();
    const channel = await connection.createConfirmChannel();
    // Its errors reject the calls below.
    channel.on("error", () => undefined);
    try {
      let message = await channel.get(link.deadName);
      while (message !== false) {
        const { messageId } = message.properties;
        const record = readDeadRecord(message.content, String(messageId));
        if (!(await visit(record, message, channel))) break;
        message = await channel.get(link.deadName);
      }
      channel.nackAll(true);
      await channel.close();
    } catch (error) {
      // Gives back what was taken: no one would see it as long as the channel is open.
      await channel.close().then(undefined, () => undefined);
      throw error;
    }
  };
  const takeAll = async (
    ids: readonly string[],
    take: (data: unknown, id: string) => Promise<void>,
  ): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    await visitAll(async ({ delivery: { id }, data }, message, channel) => {
      if (!ids.includes(id)) return true;
      // A delivery that died twice is replayed once.
      if (!found.has(id)) await take(data, id);
      channel.ack(message);
      found.add(id);
      return true;
    });
    return found;
  };

  return {
    async list(limit, offset) {
      const listed: DeadDelivery[] = [];
      await visitAll(({ delivery }) => listed.push(delivery) < offset + limit);
      return listed.slice(offset);
    },
    replay: (ids) => takeAll(ids, (data) => link.put(data)),
    discard: (ids) => takeAll(ids, () => Promise.resolve()),
    watch: () => watchedReplay(link, takeAll),
  };
}

/** RabbitMQ cannot look a job up, so the worker replies to a queue of this replay how the run ended. */
async function watchedReplay(
  link: RabbitLink,
  takeAll: (
    ids: readonly string[],
    take: (data: unknown, id: string) => Promise<void>,
  ) => Promise<ReadonlySet<string>>,
): Promise<WatchedReplay> {
  const states = new Map<string, "open" | "failed">();
  const replyTo = `${link.name}.replay.${crypto.randomUUID()}`;
  const { connection, closed } = await link.open();
  const channel = await connection.createConfirmChannel();
  channel.on("error", () => undefined);
  await channel.assertQueue(replyTo, { exclusive: true, autoDelete: true });
  const onReply = (reply: AmqpMessage | null): void => {
    const id = String(reply?.properties.correlationId);
    if (reply !== null && jsonOf(reply.content) === true) states.set(id, "failed");
    else states.delete(id);
  };
  await channel.consume(replyTo, onReply, { noAck: true });
  return {
    replay: (ids) =>
      takeAll(ids, (data, id) => {
        states.set(id, "open");
        return link.put(data, { replyTo, correlationId: id });
      }),
    unhandled(ids) {
      // Its replies are lost.
      if (closed.aborted) return Promise.reject(closed.reason as Error);
      return Promise.resolve(new Map([...states].filter(([id]) => ids.includes(id))));
    },
    async end() {
      await channel.close().then(undefined, () => undefined);
    },
  };
}
