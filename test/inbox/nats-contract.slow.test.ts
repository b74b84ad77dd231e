import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { randomUUID } from "node:crypto";
import { it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { natsQueue } from "../../src/inbox/nats/index.js";
import { growsToAStrangeJob, warnsOfNoListeners } from "../support/inbox/broker-cases.js";
import { describeNats } from "../support/inbox/inbox-engines.js";
import { startNatsServer } from "../support/nats/nats-server.js";
import { startedForAll } from "../support/started-for-all.js";

describeNats("NATS", () => {
  const server = startedForAll(startNatsServer);
  const open = async () => {
    const queueName = randomUUID();
    const connection = await connect({ servers: server().url });
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
