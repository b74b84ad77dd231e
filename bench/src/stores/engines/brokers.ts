import { startNatsServer } from "../../../../test/support/nats/nats-server.js";
import { startRabbitmq } from "../../../../test/support/rabbitmq/rabbitmq-server.js";
import type { Engine } from "./engine.js";

/** A broker as it is by default, with a queue for each contender. */
async function startBroker(start: typeof startNatsServer | typeof startRabbitmq): Promise<Engine> {
  const { port, close } = await start();
  return {
    port,
    close,
    folder: "",
    syncs: undefined,
    databaseOf: (number) => `contender${number}`,
    bytes: () => Promise.resolve(Number.NaN),
    remember: () => Promise.reject(new Error("the store of an inbox remembers its ids")),
  };
}

export const startNatsEngine = (): Promise<Engine> => startBroker(startNatsServer);
export const startRabbitmqEngine = (): Promise<Engine> => startBroker(startRabbitmq);
