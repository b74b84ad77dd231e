import { isDeepStrictEqual } from "node:util";
import { jobNameOf } from "../../src/inbox/inbox-job.js";
import { ensure, FAILURE, madeJob, type QueueRule, type QueueUnderTest } from "./queue-clients.js";

const needsKill = ({ kill }: QueueUnderTest): string | undefined =>
  kill === undefined ? "the queue has no kill" : undefined;
const needsExtend = ({ driver }: QueueUnderTest): string | undefined =>
  driver.extends === "message" ? undefined : "messages are not extended by calls";
const DEFAULT_BYTES = 100_000;
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;

/** What becomes of a job and its message. */
export const messageRules: Readonly<Record<string, QueueRule>> = {
  put: {
    title: "a job that is put comes out as it was, whatever its text, through another client",
    async check(clients) {
      const body = JSON.stringify({ alarm: "\u{1f4a5} \0 \u2028" });
      const job = await clients.put({ ...madeJob(), body });
      const other = clients.other();
      const message = await other.next("a job that is put must come");
      ensure(isDeepStrictEqual(message.data, job), "data must be the job", message.data);
      ensure(message.attempt === 1, "the first attempt is 1", message.attempt);
      await other.done(message);
    },
  },
  "put-largest": {
    title: "a job of maxJobBytes comes out whole",
    async check(clients) {
      const most = clients.made.driver.maxJobBytes ?? DEFAULT_BYTES;
      const small = madeJob(60);
      const room = most - Buffer.byteLength(JSON.stringify(small));
      const job = await clients.put({ ...small, body: small.body + "x".repeat(room) });
      const { data } = await clients.other().next("a job of the stated size must come");
      ensure(isDeepStrictEqual(data, job), "a job of the stated size must come out whole");
    },
  },
  "put-too-large": {
    title: "a job over maxJobBytes is refused, or comes out whole",
    async check(clients) {
      const { maxJobBytes } = clients.made.driver;
      if (maxJobBytes === undefined) return;
      let job;
      try {
        job = await clients.put(madeJob(maxJobBytes + 1_000));
      } catch {
        return;
      }
      const { data } = await clients.other().next("a job that was taken must come");
      ensure(isDeepStrictEqual(data, job), "a job that was taken must come out whole");
    },
  },
  "put-crash": {
    title: "a job is kept if the process ends as soon as put resolves",
    isJudged: needsKill,
    async check(clients) {
      await clients.put();
      await clients.made.kill?.();
      await clients.other().next("put must resolve when the job is kept");
    },
  },
  "put-same": {
    title: "a second job of one delivery is taken too",
    async check(clients) {
      const job = await clients.put();
      try {
        await clients.put(job);
      } catch {
        ensure(false, "a second put of a delivery must resolve");
      }
      await clients.other().next("the job of a delivery that was put twice must come");
    },
  },
  apart: {
    title: "of five messages each is settled for itself, and what is done or dead stays away",
    async check(clients) {
      for (let n = 0; n < 5; n += 1) await clients.put();
      const first = clients.first();
      const rule = "every job must come";
      const messages = [];
      for (let n = 0; n < 5; n += 1) messages.push(await first.next(rule));
      const [dead, , again] = messages;
      for (const message of messages) {
        const settlement =
          message === again
            ? ({ result: "retry", afterMs: 1, error: FAILURE } as const)
            : ({ result: message === dead ? "dead" : "done", error: FAILURE } as const);
        ensure(await first.settle(message, settlement), "each settlement must be taken");
      }
      const message = await first.next("the one message that is to run again must come");
      const isSame = isDeepStrictEqual(message.data, again?.data);
      ensure(isSame, "only the message that is to run again may come", message.id);
      await first.settle(message, { result: "done" });
      await clients.quiet(first, 3, "a message that is done or dead must not come again");
    },
  },
  exclusive: {
    title: "no other client gets a message while it is held",
    async check(clients) {
      const { message } = await clients.take();
      const other = clients.other();
      await clients.hold(message, 1 / 2, "a message is held for a while");
      ensure(other.received.length === 0, "a message that is held must not come elsewhere");
    },
  },
  lease: {
    title: "a message stays ours for leaseMs from its receipt, without an extension",
    isJudged: needsExtend,
    async check(clients) {
      const leaseMs = 6 * clients.holdMs;
      await clients.take(1, leaseMs);
      const other = clients.other(1, leaseMs);
      await clients.quiet(other, 4, "a message must be held for leaseMs");
    },
  },
  "extend-holds": {
    title: "a message that is extended, or whose connection lives, stays ours beyond its hold",
    isJudged: ({ driver }) => (driver.extends === "never" ? "nothing extends it" : undefined),
    async check(clients) {
      const { first, message } = await clients.take();
      const other = clients.other();
      await clients.hold(message, 3, "a message can be extended");
      ensure(other.received.length === 0, "an extended message must not come elsewhere");
      await first.done(message);
      await clients.quiet(other, 2, "a message that is done must not come elsewhere");
    },
  },
  crash: {
    title: "the message of a process that ended comes again",
    isJudged: needsKill,
    async check(clients) {
      await clients.take();
      await clients.made.kill?.();
      await clients.other().next("a message of a killed process must come again");
    },
  },
  lost: {
    title: "a message that went to another client says that it is lost",
    isJudged: needsExtend,
    async check(clients) {
      const { message } = await clients.take(1);
      await clients.other().next("a message that is not extended must come elsewhere");
      const isHeld = message.lost?.aborted !== true && (await message.extend?.(clients.holdMs));
      ensure(isHeld !== true, "the extension of a lost message must be false, or lost be aborted");
    },
  },
  "lost-settle": {
    title: "a client that has lost a message can neither delay nor bury the run of another",
    isJudged: needsExtend,
    async check(clients) {
      const { message } = await clients.take(1);
      const other = clients.other();
      const taken = await other.next("a message that is not extended must come elsewhere");
      const isTaken = await message.settle({ result: "dead", error: FAILURE });
      ensure(!isTaken, "the settlement of a lost message must be false");
      await other.done(taken, "the holder's settlement must be taken");
    },
  },
  "retry-waits": {
    title: "a message that is to run again waits as long as it was told, and counts its attempt",
    async check(clients) {
      const { first, message } = await clients.take();
      const afterMs = 3 * clients.holdMs;
      const since = performance.now();
      await first.settle(message, { result: "retry", afterMs, error: FAILURE });
      const again = await first.next("a message that is to run again must come");
      const waitedMs = performance.now() - since;
      // A timer may fire up to a millisecond early.
      ensure(waitedMs >= afterMs - 1, `a retry after ${afterMs} ms must wait as long`, waitedMs);
      ensure(again.attempt === 2, "the second attempt is 2", again.attempt);
      await first.settle(again, { result: "retry", afterMs: 1, error: FAILURE });
      const { attempt } = await first.next("a message that is to run again must come");
      ensure(attempt === 3, "the third attempt is 3", attempt);
    },
  },
  postponed: {
    title: "a run that did not fail is no attempt, and never buries its job",
    async check(clients) {
      await clients.put();
      const first = clients.first();
      for (let n = 0; n < 8; n += 1) {
        const message = await first.next("a postponed message must come again");
        const { attempt, maxAttempts = Infinity } = message;
        ensure(attempt === 1, "a run that did not fail must not count", attempt);
        ensure(attempt <= maxAttempts, "a postponed message must not be given up");
        await first.settle(message, { result: "retry", afterMs: 1 });
      }
    },
  },
  // A message that another program wrote.
  strange: {
    title:
      "messages with strange numbers and names come with right ones, wait, die, and are replayed",
    isJudged: ({ putStrange }) =>
      putStrange === undefined ? "the queue has no putStrange" : undefined,
    async check(clients) {
      const { driver, putStrange } = clients.made;
      // Makes the queue.
      await clients.put();
      const first = clients.first();
      await first.settle(await first.next("a job must come"), { result: "done" });
      const count = (await putStrange?.()) ?? 0;
      const settling: Promise<boolean>[] = [];
      while (settling.length < count) {
        const message = await first.next("a strange message must come");
        const { attempt, enqueuedAt } = message;
        ensure(isCount(attempt - 1), "attempt must be a number from 1", attempt);
        ensure(!Number.isNaN(enqueuedAt?.getTime()), "enqueuedAt must be a time", enqueuedAt);
        // At once: they may have come together, and one that waits for others would outlast its hold.
        settling.push(first.settle(message, { result: "retry", afterMs: 1, error: FAILURE }));
      }
      const isTaken = (await Promise.all(settling)).every(Boolean);
      ensure(isTaken, "a strange message can be retried");
      const names = new Set<string>();
      for (let n = 0; n < count; n += 1) {
        const message = await first.next("a strange message that is to run again must come");
        ensure(message.attempt > 1, "a strange message counts its attempts", message.attempt);
        names.add(jobNameOf(message.data).id ?? message.id);
        await first.bury(message);
      }
      await clients.quiet(first, 2, "a dead message must not come again");
      if (driver.list === undefined) return;
      const listed = await driver.list();
      const isListed = listed.every(({ id, attempts }) => names.has(id) && isCount(attempts));
      ensure(isListed && listed.length > 0, "dead jobs must be listed as they were named", listed);
      const { notFound } = (await driver.replay?.([...names])) ?? {};
      ensure(notFound?.length === 0, "a job must be replayed by its name", notFound);
    },
  },
};
