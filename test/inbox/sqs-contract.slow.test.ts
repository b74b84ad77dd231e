import { describe, it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { sqsQueue } from "../../src/inbox/sqs/index.js";
import { startSqs } from "../support/inbox/sqs-engine.js";
import { startedForAll } from "../support/started-for-all.js";

const HOLD_MS = 2_000;

describe.each([
  ["a Standard queue", false],
  ["a FIFO queue", true],
])("%s of SQS", (title, isFifo) => {
  const engine = startedForAll(startSqs);
  const cases = queueDriverContract(
    () => {
      const { client, makeQueues } = engine();
      let isKilled = false;
      const killable = new Proxy(client, {
        get(target, name) {
          const method: unknown = Reflect.get(target, name, target);
          if (typeof method !== "function") return method;
          return async (...given: unknown[]): Promise<unknown> => {
            const call: unknown = isKilled ? undefined : Reflect.apply(method, target, given);
            const result: unknown = await call;
            // A killed process calls nothing more, and sees no response.
            if (isKilled) throw new Error("killed");
            return result;
          };
        },
      });
      const queues = makeQueues(isFifo);
      return {
        driver: sqsQueue({ client: killable, ...queues }),
        otherClient: sqsQueue({ client, ...queues }),
        kill: () => {
          isKilled = true;
        },
      };
    },
    { holdMs: HOLD_MS },
  );

  it.concurrent.each(cases.map((one) => [one.title, one] as const))(
    `${title} of SQS keeps the contract: %s`,
    async (_, { run }) => {
      await run();
    },
  );
});
