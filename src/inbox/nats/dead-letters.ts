import type { DeadDelivery, DeadLetters } from "../dead-deliveries.js";
import { readDeadRecord } from "../dead-record.js";
import { queueErrorOf } from "../queue-error.js";
import type { NatsManager, NatsStoredMessage } from "./client.js";
import type { NatsStreams } from "./streams.js";

/** The last part of a subject, in which a dot separates parts. No delivery id has a tilde. */
export function tokenOf(id: string): string {
  return id.replaceAll(".", "~");
}

/** The id under which a message is stored once, however often it is published within two minutes. */
export function copyIdOf(what: string, { seq, time }: NatsStoredMessage): string {
  return `${what}#${String(seq)}#${String(time.getTime())}`;
}

/** The dead jobs, in a stream that keeps one message for each delivery. */
export function deadLettersOf(streams: NatsStreams): DeadLetters {
  const { name, deadName, jetstream } = streams;

  async function* messages(manager: NatsManager): AsyncGenerator<NatsStoredMessage> {
    for (let seq = 1; ; seq += 1) {
      const query = { seq, next_by_subj: `${deadName}.>` };
      const message = await manager.streams.getMessage(deadName, query);
      if (message === null) return;
      yield message;
      ({ seq } = message);
    }
  }
  const forEach = (
    ids: readonly string[],
    isTaken: (message: NatsStoredMessage) => Promise<boolean>,
  ): Promise<ReadonlySet<string>> =>
    withSafeErrors(async () => {
      const { streams: api } = await streams.open();
      const found = new Set<string>();
      for (const id of ids) {
        const query = { last_by_subj: `${deadName}.${tokenOf(id)}` };
        const message = await api.getMessage(deadName, query);
        if (message === null || !(await isTaken(message))) continue;
        // False or an error: another call was faster.
        const isGone = api.deleteMessage(deadName, message.seq);
        if (await isGone.then(undefined, () => false)) found.add(id);
      }
      return found;
    });

  return {
    list: (limit, offset) =>
      withSafeErrors(async () => {
        const listed: DeadDelivery[] = [];
        for await (const { subject, data } of messages(await streams.open())) {
          listed.push(readDeadRecord(data, subject.slice(deadName.length + 1)).delivery);
          if (listed.length === offset + limit) break;
        }
        return listed.slice(offset);
      }),
    replay: (ids) =>
      forEach(ids, async (message) => {
        const { data } = readDeadRecord(message.data, "");
        const msgID = copyIdOf("replay", message);
        await jetstream.publish(`${name}.job`, JSON.stringify(data), { msgID });
        return true;
      }),
    discard: (ids) => forEach(ids, () => Promise.resolve(true)),
  };
}

/** Replaces errors of NATS. */
async function withSafeErrors<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw queueErrorOf("NATS", error);
  }
}
