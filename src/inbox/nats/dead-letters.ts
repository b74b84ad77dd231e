import { deadLettersById, type DeadJob, type DeadLetters } from "../dead-deliveries.js";
import { readDeadRecord } from "../dead-record.js";
import { attemptOf, countOf, delayOf } from "../envelope.js";
import type { NatsManager, NatsStoredMessage } from "./client.js";
import type { NatsStreams } from "./streams.js";

/** The part of a subject that names the delivery, in which a dot separates parts. No delivery id has a tilde. */
export function tokenOf(id: string): string {
  return id.replaceAll(".", "~");
}

/**
 * What the subject of a job says: `<queue>.<token>.job`, or `<queue>.<token>.again.<attempt>.<delay in ms>.<crashes>`.
 * `strange`: the token of a job that the inbox did not make, from its second message on.
 */
export function placeOf(subject: string): {
  readonly strange: string | undefined;
  readonly attempt: number;
  readonly delayMs: number;
  readonly crashes: number;
} {
  const [, token, kind, attempt, delayMs, crashes] = subject.split(".");
  const strange = token?.startsWith("#") === true ? token : undefined;
  return kind === "again"
    ? { strange, attempt: attemptOf(attempt), delayMs: delayOf(delayMs), crashes: countOf(crashes) }
    : { strange, attempt: 1, delayMs: 0, crashes: 0 };
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
  /** Resolves to false if the delivery is not dead, or another call was faster. */
  const take = async (
    id: string,
    act: (message: NatsStoredMessage) => PromiseLike<unknown>,
  ): Promise<boolean> => {
    // Wildcards of a subject, which no job has: they would find the job of another delivery.
    if (/[*>]/.test(id)) return false;
    const { streams: api } = await streams.open();
    const query = { last_by_subj: `${deadName}.${tokenOf(id)}` };
    const message = await api.getMessage(deadName, query);
    if (message === null) return false;
    await act(message);
    return api.deleteMessage(deadName, message.seq).then(undefined, () => false);
  };

  return deadLettersById({
    async list(limit, offset) {
      const listed: DeadJob[] = [];
      for await (const { subject, data } of messages(await streams.open())) {
        const token = subject.slice(deadName.length + 1);
        const { delivery } = readDeadRecord(data, token);
        // One that another program has put here may name another job than its subject, by which it is replayed.
        listed.push(tokenOf(delivery.id) === token ? delivery : { ...delivery, id: token });
        if (listed.length === offset + limit) break;
      }
      return listed.slice(offset);
    },
    replay: (id) =>
      take(id, (message) => {
        const { content } = readDeadRecord(message.data, "");
        const msgID = copyIdOf("replay", message);
        const subject = `${name}.${message.subject.slice(deadName.length + 1)}.job`;
        return jetstream.publish(subject, content, { msgID });
      }),
    discard: (id) => take(id, () => Promise.resolve()),
  });
}
