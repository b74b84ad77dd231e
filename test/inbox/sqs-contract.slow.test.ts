import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { sqsQueue } from "../../src/inbox/sqs/index.js";
import { deferred } from "../support/deferred.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";
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
        async putStrange() {
          const strange = ["-1000000000", "x", "1e300", "0x10"];
          for (const [n, StringValue] of strange.entries()) {
            const attribute = { DataType: "String", StringValue } as const;
            const fifo = { MessageGroupId: String(n), MessageDeduplicationId: String(n) };
            const input = {
              QueueUrl: queues.queueUrl,
              MessageBody: "junk",
              MessageAttributes: { FailedRuns: attribute, DelayMs: attribute, PutAt: attribute },
            };
            await client.sendMessage(isFifo ? { ...input, ...fifo } : input, {
              abortSignal: AbortSignal.timeout(5_000),
            });
          }
          return strange.length;
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

describe("SQS whose answers are read late", () => {
  const engine = startedForAll(startSqs);

  it("a worker that has read its receipt late cannot bury the job that another one has", async () => {
    const { client, makeQueues } = engine();
    const late = Object.create(client) as typeof client;
    late.receiveMessage = async (...given) => {
      const answer = await client.receiveMessage(...given);
      await wait(300);
      return answer;
    };
    const queues = makeQueues(true);
    const first = sqsQueue({ client: late, ...queues });
    const other = sqsQueue({ client, ...queues });
    const [started, taken, buried] = [deferred(), deferred(), deferred<boolean>()];
    const options = {
      concurrency: 1,
      // A quarter of it is what a busy machine may take on top of the 300 ms.
      leaseMs: 4 * HOLD_MS,
      onError: (error: unknown) => buried.reject(error),
      onBuried: () => undefined,
    };
    await first.put(await alarmJob(), undefined);
    const losing = first.receive?.(async (message) => {
      started.resolve();
      await taken.promise;
      buried.resolve(await message.settle({ result: "dead", error: new Error("made up") }));
    }, options);
    await started.promise;
    const holding = other.receive?.(async (message) => {
      taken.resolve();
      await buried.promise;
      await message.settle({ result: "done" });
    }, options);
    expect(await buried.promise).toBe(false);
    await Promise.all([losing?.stop(), holding?.stop()]);
  });
});
