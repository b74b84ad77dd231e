import type { QueueMessage } from "../../src/inbox/queue-driver.js";
import { MAX_CRASHES } from "../../src/inbox/queue-options.js";
import { ensure, type QueueRule, type QueueUnderTest } from "./queue-clients.js";

const STOPS = 30;
const AGAIN = "the job of a crashed worker must come again";
/** A message that was on its way to a worker that crashed or stopped may count too. */
const FEWEST_CRASHES = 10;
const needsNewClient = ({ newClient }: QueueUnderTest): string | undefined =>
  newClient === undefined ? "the queue has no newClient" : undefined;

/** Whether `inboxConsume` gives the job up. */
function isGivenUp({ crashes = 0 }: QueueMessage): boolean {
  return crashes > MAX_CRASHES;
}

/** What a worker may rely on, and what becomes of a job whose workers crash or stop. */
export const workerRules: Readonly<Record<string, QueueRule>> = {
  concurrency: {
    title: "no more than concurrency messages run at once, and all of them run",
    async check(clients) {
      for (let n = 0; n < 5; n += 1) await clients.put();
      const first = clients.first(2);
      for (let n = 0; n < 5; n += 1) {
        const message = await first.next("every job must come");
        await clients.wait(1 / 8);
        await first.settle(message, { result: "done" });
      }
      ensure(first.mostRunning <= 2, "at most 2 messages may run at once", first.mostRunning);
    },
  },
  "stop-waits": {
    title: "stop waits for the messages that run, and their settlements are taken",
    async check(clients) {
      const { first, message } = await clients.take();
      let isStopped = false;
      const stopping = first.stop().then(() => (isStopped = true));
      await clients.wait(1 / 2);
      ensure(!isStopped, "stop must wait for the message that runs");
      await first.done(message, "done must be taken while it stops");
      await stopping;
    },
  },
  "stop-timeout": {
    title: "stop resolves when its time is over, although a message runs",
    async check(clients) {
      const { first } = await clients.take();
      let isStopped = false;
      void first.stop(clients.holdMs / 2).then(() => (isStopped = true));
      await clients.wait(4);
      ensure(isStopped, "stop must resolve after timeoutMs");
    },
  },
  "stop-takes-none": {
    title: "a client that stops takes no message from then on, and the job waits for another",
    async check(clients) {
      const { first, message } = await clients.take();
      const stopping = first.stop();
      await clients.put();
      await clients.hold(message, 1 / 2, "a message is held while its client stops");
      await first.settle(message, { result: "done" });
      await stopping;
      await clients.wait(1);
      ensure(first.received.length === 1, "a client that stops must take no message");
      await clients.other().next("the job must come to a client that is not stopped");
    },
  },
  waiting: {
    title: "the queue knows how many jobs wait, and how long the oldest has",
    isJudged: ({ driver }) => (driver.waiting === undefined ? "it does not tell" : undefined),
    async check(clients) {
      const { driver } = clients.made;
      await clients.put();
      await clients.put();
      await clients.wait(1 / 2);
      const { count = 2, oldestMs } = (await driver.waiting?.()) ?? {};
      ensure(count === 2, "two jobs wait", count);
      const least = clients.holdMs / 4;
      ensure((oldestMs ?? least) >= least, "the oldest job has waited half a hold", oldestMs);
    },
  },
  "crash-leased": {
    title:
      "a job is given up after 15 crashes, although its message comes back while the lease holds",
    isJudged: needsNewClient,
    async check(clients) {
      await clients.put();
      for (let crashes = 0; ; crashes += 1) {
        const { client, kill } = await clients.fresh();
        const message = await clients.nextOrBuried(client, AGAIN);
        if (message === undefined || isGivenUp(message)) {
          ensure(crashes >= FEWEST_CRASHES, "a job must survive some crashes", crashes);
          return;
        }
        ensure(crashes <= MAX_CRASHES, "a job must be given up after 15 crashes", message.crashes);
        await kill();
        const { client: other } = await clients.fresh();
        const again = await clients.nextOrBuried(other, AGAIN);
        if (again !== undefined) await other.postpone(again, clients.holdMs);
      }
    },
  },
  "stop-leased": {
    title: "a job that is postponed 30 times, with a stop of its worker each time, is not given up",
    isJudged: needsNewClient,
    async check(clients) {
      await clients.put();
      for (let stops = 0; stops <= STOPS; stops += 1) {
        const { client } = await clients.fresh();
        const message = await clients.nextOrBuried(client, "a postponed job must come again");
        const isKept = message !== undefined && !isGivenUp(message);
        ensure(isKept, "a stop of a worker is no crash", stops);
        if (message !== undefined) await client.postpone(message, clients.holdMs);
      }
    },
  },
};
