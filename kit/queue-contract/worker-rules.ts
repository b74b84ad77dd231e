import { ensure, type QueueRule } from "./queue-clients.js";

/** What a worker may rely on. */
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
      ensure(await first.settle(message, { result: "done" }), "done must be taken while it stops");
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
    title: "a stopped client takes no message, and the job waits for another",
    async check(clients) {
      const first = clients.first();
      await first.stop();
      await clients.put();
      await clients.quiet(first, 1, "a stopped client must take no message");
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
};
