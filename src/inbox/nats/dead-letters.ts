import type { DeadDelivery, DeadLetters } from "../dead-deliveries.js";
import { readDeadRecord } from "../dead-record.js";
import type { NatsManager, NatsStoredMessage } from "./client.js";
import type { NatsStreams } from "./streams.js";

/** The part of a subject that names the delivery, in which a dot separates parts. No delivery id has a tilde. */
export function tokenOf(id: string): string {
  return id.replaceAll(".", "~");
}

/**
 * What the subject of a job says: `<queue>.<token>.job`, or `<queue>.<token>.again.<attempt>.<delay in ms>`. Without a
 * token another program has published it.
 */
export function placeOf(subject: string): {
  readonly token: string | undefined;
  readonly attempt: number;
  readonly delayMs: number;
} {
  const [, first, kind, attempt, delayMs] = subject.split(".");
  const token = kind === undefined ? undefined : first;
  return kind === "again"
    ? { token, attempt: Number(attempt), delayMs: Number(delayMs) }
    : { token, attempt: 1, delayMs: 0 };
}

/** The id under which a message is stored once, however often it is published within two minutes. */
export function copyIdOf(what: string, { seq, time }: NatsStoredMessage): string {
  return `${what}#${String(seq)}#${String(time.getTime())}`;
}

/** The places of the jobs of a growing replay and of the dead jobs that it replayed, by delivery id. */
type Replayed = Map<string, { readonly job: number; readonly dead: number }>;

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
  const forEach = async (
    ids: readonly string[],
    isTaken: (message: NatsStoredMessage, id: string) => Promise<boolean>,
  ): Promise<ReadonlySet<string>> => {
    const { streams: api } = await streams.open();
    const found = new Set<string>();
    for (const id of ids) {
      const query = { last_by_subj: `${deadName}.${tokenOf(id)}` };
      const message = await api.getMessage(deadName, query);
      if (message === null || !(await isTaken(message, id))) continue;
      // False or an error: another call was faster.
      const isGone = api.deleteMessage(deadName, message.seq);
      if (await isGone.then(undefined, () => false)) found.add(id);
    }
    return found;
  };

  const replay = (ids: readonly string[], replayed?: Replayed) =>
    forEach(ids, async (message, id) => {
      const { data } = readDeadRecord(message.data, "");
      const msgID = copyIdOf("replay", message);
      const subject = `${name}.${message.subject.slice(deadName.length + 1)}.job`;
      const job = await jetstream.publish(subject, JSON.stringify(data), { msgID });
      replayed?.set(id, { job: job.seq, dead: message.seq });
      return true;
    });
  const unhandled = async (ids: readonly string[], replayed: Replayed) => {
    const { streams: api } = await streams.open();
    const found = new Map<string, "open" | "failed">();
    for (const id of ids) {
      const { job: leastJob = 0, dead: lastDead = 0 } = replayed.get(id) ?? {};
      const last = (stream: string, rest: string) =>
        api.getMessage(stream, { last_by_subj: `${stream}.${tokenOf(id)}${rest}` });
      // After a crash, NATS 2.9 still has messages that were removed: those before the replay say nothing.
      // A job is stored in its next place before it is removed from the one before, so look in this order.
      const job = await last(name, ".>");
      if (job !== null && job.seq >= leastJob) {
        found.set(id, placeOf(job.subject).attempt > 1 ? "failed" : "open");
        continue;
      }
      const dead = await last(deadName, "");
      if (dead !== null && dead.seq > lastDead) found.set(id, "failed");
    }
    return found;
  };

  return {
    async list(limit, offset) {
      const listed: DeadDelivery[] = [];
      for await (const { subject, data } of messages(await streams.open())) {
        listed.push(readDeadRecord(data, subject.slice(deadName.length + 1)).delivery);
        if (listed.length === offset + limit) break;
      }
      return listed.slice(offset);
    },
    replay,
    discard: (ids) => forEach(ids, () => Promise.resolve(true)),
    watch() {
      const replayed: Replayed = new Map();
      return {
        replay: (ids) => replay(ids, replayed),
        unhandled: (ids) => unhandled(ids, replayed),
      };
    },
  };
}
