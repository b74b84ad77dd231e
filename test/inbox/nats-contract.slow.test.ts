import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { QueueMessage } from "../../src/inbox/index.js";
import { natsQueue } from "../../src/inbox/nats/index.js";
import { deferred } from "../support/deferred.js";
import { describeNats } from "../support/inbox/inbox-engines.js";
import { keepsContract } from "../support/inbox/queue-matrix.js";
import { alarmJob, settlesAt, watchWorker } from "../support/inbox/receiver-and-worker.js";
import { startNatsServer } from "../support/nats/nats-server.js";
import { startedForAll } from "../support/started-for-all.js";

describeNats("NATS", () => {
  const server = startedForAll(startNatsServer);
  const open = async (queueName: string = randomUUID(), { url } = server()) => {
    const connection = await connect({ servers: url });
    const client = jetstream(connection);
    const driver = natsQueue({ connection, jetstream: client, queueName });
    return { driver, connection, client, kill: () => connection.close() };
  };
  keepsContract(
    "NATS",
    async () => {
      const queueName = randomUUID();
      const [one, other] = [await open(queueName), await open(queueName)];
      return {
        ...one,
        otherClient: other.driver,
        newClient: () => open(queueName),
        async putStrange() {
          const { client } = other;
          const places = ["again.x.y", "again.-1000000000.0", "again.1.1e300", "again.1.-5", "job"];
          for (const place of places) await client.publish(`${queueName}.token.${place}`, "junk");
          // Their JSON is longer than a message may be.
          const most = (other.connection.info?.max_payload ?? 0) - 2_000;
          await client.publish(`${queueName}.a.b.c.d`, Buffer.alloc(most, 0xff));
          await client.publish(`${queueName}.large`, `[${"1e20,".repeat(most / 5 - 1)}1]`);
          return places.length + 2;
        },
        async dump() {
          const { streams } = await other.client.jetstreamManager();
          const found: Uint8Array[] = [];
          for await (const { config, state } of streams.list()) {
            for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
              const message = await streams.getMessage(config.name, { seq });
              if (message !== null) found.push(message.data);
            }
          }
          return Buffer.concat(found);
        },
        async close() {
          await Promise.all([one.kill(), other.kill()]);
        },
      };
    },
    ["lists dead jobs", "shows its messages"],
  );

  it("a busy NATS worker does not bury what another worker runs", async () => {
    const queueName = randomUUID();
    const [busy, other] = [await open(queueName), await open(queueName)];
    const taken: QueueMessage[] = [];
    const takenOver = deferred<undefined>();
    const nothing = () => undefined;
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

  it("a NATS worker stops although its server is away", async () => {
    const own = await startNatsServer();
    const connection = await connect({ servers: own.url, maxReconnectAttempts: -1 });
    const driver = natsQueue({ connection, jetstream: jetstream(connection) });
    const handled = deferred();
    const worker = watchWorker(driver, () => handled.resolve());
    await driver.put(await alarmJob(), undefined);
    await handled.promise;
    await own.kill();
    await worker.stop();
    await connection.close();
    await own.close();
  });
});
