import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { memoryStore } from "../../src/index.js";
import { inboxConsume, type QueueMessage } from "../../src/inbox/index.js";
import { natsQueue } from "../../src/inbox/nats/index.js";
import { growsToAStrangeJob, warnsOfNoListeners } from "../support/inbox/broker-cases.js";
import { deferred } from "../support/deferred.js";
import { describeNats } from "../support/inbox/inbox-engines.js";
import { alarmJob, settlesAt } from "../support/inbox/receiver-and-worker.js";
import { startNatsServer } from "../support/nats/nats-server.js";
import { startedForAll } from "../support/started-for-all.js";

describeNats("NATS", () => {
  const server = startedForAll(startNatsServer);
  const open = async (queueName: string = randomUUID(), { url } = server()) => {
    const connection = await connect({ servers: url });
    const client = jetstream(connection);
    const driver = natsQueue({ connection, jetstream: client, queueName });
    const putStrange = (job: object) => client.publish(`${queueName}.job`, JSON.stringify(job));
    return { driver, connection, putStrange };
  };
  const cases = queueDriverContract(async () => {
    const [connection, other] = await Promise.all([
      connect({ servers: server().url }),
      connect({ servers: server().url }),
    ]);
    const queueName = randomUUID();
    return {
      driver: natsQueue({ connection, jetstream: jetstream(connection), queueName }),
      otherClient: natsQueue({ connection: other, jetstream: jetstream(other), queueName }),
      kill: () => connection.close(),
      async close() {
        await Promise.all([connection.close(), other.close()]);
      },
    };
  });

  it.each(cases.map((one) => [one.title, one] as const))(
    "NATS keeps the contract: %s",
    async (_, { run }) => {
      await run();
    },
  );

  it("a NATS worker that was busy when its message came does not bury what another worker runs", async () => {
    const queueName = randomUUID();
    const [busy, other] = [await open(queueName), await open(queueName)];
    const taken: QueueMessage[] = [];
    const takenOver = deferred<undefined>();
    const nothing = (): void => undefined;
    const options = { concurrency: 1, leaseMs: 3_000, onError: nothing, onBuried: nothing };
    const first = busy.driver.receive?.(async (message) => {
      taken.push(message);
      if (taken.length === 1) await message.settle({ result: "done" });
      else await takenOver.promise;
    }, options);
    await busy.driver.put(await alarmJob("alarm-1"), undefined);
    await settlesAt(async () => (await busy.driver.waiting?.())?.count, 0);
    // The next pull is at the server when it answers this.
    await busy.connection.flush();
    await other.driver.put(await alarmJob("alarm-2"), undefined);
    // The server sends the message meanwhile.
    for (const since = performance.now(); performance.now() - since < 300;);
    await settlesAt(() => taken.length, 2);
    const second = other.driver.receive?.(async (again) => {
      takenOver.resolve(undefined);
      await again.settle({ result: "done" });
    }, options);
    await takenOver.promise;
    const buried = await taken[1]?.settle({ result: "dead", error: new Error("failed") });
    expect(buried).toBe(false);
    await Promise.all([first?.stop(), second?.stop()]);
    await Promise.all([busy.connection.close(), other.connection.close()]);
  });

  it("a growing replay on NATS ends although a crash brought finished jobs back", async () => {
    const own = await startNatsServer();
    const queueName = randomUUID();
    const before = await open(queueName, own);
    const ids = Array.from({ length: 40 }, (_, n) => `alarm-${n}`);
    const options = { store: memoryStore(), logger: false, concurrency: 2 } as const;
    // The second attempt is a message of its own, which comes back beside that of the replay.
    const retries = { retryLimit: 1, retryDelayMs: 1_000 };
    let dead = 0;
    const killed = deferred<undefined>();
    const failing = inboxConsume({
      ...{ ...options, ...retries, driver: before.driver },
      onJob: ({ outcome }) => (dead += Number(outcome === "dead")),
      handlers: {
        async new_alarm(_, { id }) {
          // NATS 2.9 brings back what was removed if another message of the stream was left.
          if (id === "in-flight") await killed.promise;
          throw new Error("fails");
        },
      },
    });
    for (const id of [...ids, "in-flight"]) await before.driver.put(await alarmJob(id), undefined);
    await settlesAt(() => dead, ids.length);
    // The server writes within this time to its disk that the consumer is through with them.
    await pause(1_000);
    await own.kill();
    killed.resolve(undefined);
    await before.connection.close();
    await failing.stop();
    await own.start();

    const after = await open(queueName, own);
    const handled: string[] = [];
    const working = inboxConsume({
      ...{ ...options, driver: after.driver },
      handlers: { new_alarm: (_, { id }) => handled.push(id) },
    });
    const replay = await after.driver.replay("all", { growing: true, groupTimeoutMs: 10_000 });
    expect(replay).toEqual({ replayed: ids, notFound: [] });
    await settlesAt(() => ids.every((id) => handled.includes(id)), true);
    await working.stop();
    await after.connection.close();
    await own.close();
  });

  it("a NATS worker of 30 jobs at once makes Node warn of no leak", async () => {
    const { driver, connection } = await open();
    await warnsOfNoListeners(driver);
    await connection.close();
  });

  it("a growing replay on NATS stops at a job that the inbox did not make", async () => {
    const { driver, connection, putStrange } = await open();
    await growsToAStrangeJob(driver, putStrange);
    await connection.close();
  });
});
