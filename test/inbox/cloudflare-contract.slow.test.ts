import { expect, it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { cloudflareQueue } from "../../src/inbox/cloudflare/index.js";
import type { QueueDriver, QueueMessage, QueueSettlement } from "../../src/inbox/queue-driver.js";
import { bundleWorker } from "../support/cloudflare/bundle-worker.js";
import { missingMiniflare, startMiniflare } from "../support/cloudflare/miniflare.js";
import { deferred } from "../support/deferred.js";
import { describeService } from "../support/describe-service.js";
import { startedForAll } from "../support/started-for-all.js";

/**
 * Starts workerd with an empty queue, as a driver that receives in this process. `script`: the bundle of queue-worker.ts. `maxBatchTimeout`: how many seconds it
 * waits for five messages. It hands over one batch after the other.
 */
async function startQueueBridge(script: string, maxJobBytes: number, maxBatchTimeout: number) {
  const receiver = deferred<(message: QueueMessage) => Promise<void>>();
  const settled = new Map<string, (isTaken: boolean) => void>();

  const run = (message: Omit<QueueMessage, "settle">): Promise<Response> =>
    new Promise((answer) => {
      const settle = (settlement: QueueSettlement): Promise<boolean> =>
        new Promise((resolve) => {
          settled.set(message.id, resolve);
          const { result } = settlement;
          const error = "error" in settlement ? settlement.error : undefined;
          const text = error && { message: error.message };
          const afterMs = result === "retry" ? settlement.afterMs : undefined;
          answer(Response.json({ result, afterMs, error: text }));
        });
      void receiver.promise.then((take) => take({ ...message, settle }));
    });
  const running = await startMiniflare({
    workers: [
      {
        script,
        queueProducers: { QUEUE: "jobs", DEAD_QUEUE: "dead" },
        queueConsumers: {
          jobs: { maxBatchSize: 5, maxBatchTimeout, maxRetries: 0 },
          dead: { maxBatchTimeout: 0 },
        },
        serviceBindings: {
          TESTS: async (request) => {
            const body: unknown = await request.json();
            if (request.url.endsWith("/run")) return run(body as QueueMessage);
            const { id, isTaken } = body as { id: string; isTaken: boolean };
            settled.get(id)?.(isTaken);
            return new Response();
          },
        },
      },
    ],
    onOutput: () => undefined,
  });
  const driver: QueueDriver<unknown> = {
    name: "jobs",
    extends: "never",
    maxJobBytes,
    async put(job) {
      const body = JSON.stringify(job);
      const { ok } = await running.dispatchFetch("http://worker/", { method: "POST", body });
      if (!ok) throw new Error("not taken");
    },
    receive(given) {
      receiver.resolve(given);
      return { stop: () => Promise.resolve() };
    },
  };
  return { driver, close: () => running.dispose() };
}

// Cloudflare calls the Worker, so the rules of polling, stopping, holding and killing have nothing to judge.
const JUDGED = ["put", "put-largest", "put-too-large", "put-same", "retry-waits", "postponed"];

describeService("Cloudflare Queues on workerd", missingMiniflare, () => {
  const bundle = startedForAll(async () => {
    const worker = new URL("../support/cloudflare/queue-worker.ts", import.meta.url);
    return { script: await bundleWorker(worker), close: () => undefined };
  });
  const { maxJobBytes = 0 } = cloudflareQueue({ queue: { send: () => Promise.resolve() } });
  const casesOf = (maxBatchTimeout: number) =>
    queueDriverContract(async () => {
      const { driver, close } = await startQueueBridge(
        bundle().script,
        maxJobBytes,
        maxBatchTimeout,
      );
      return { driver, otherClient: driver, close };
    });
  const judged = [
    ...casesOf(0).filter(({ id }) => JUDGED.includes(id)),
    // Its five messages must come in one batch.
    ...casesOf(10).filter(({ id }) => id === "apart"),
  ];

  it("the contract has the rules for a queue whose engine calls", () => {
    expect(judged).toHaveLength(JUDGED.length + 1);
  });

  it.concurrent.each(judged.map((one) => [one.title, one] as const))(
    "Cloudflare Queues keeps the contract: %s",
    async (_, { run }) => {
      expect(await run()).toEqual({ result: "passed" });
    },
  );
});
