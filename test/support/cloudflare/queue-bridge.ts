import type {
  QueueDriver,
  QueueMessage,
  QueueSettlement,
} from "../../../src/inbox/queue-driver.js";
import { deferred } from "../deferred.js";
import { startMiniflare } from "./miniflare.js";

/** What the Worker of queue-worker.ts does with a queue of workerd, as a driver that receives in this process. */
export interface QueueBridge {
  readonly driver: QueueDriver<unknown>;
  /** The bodies that came to the dead queue. */
  readonly dead: unknown[];
  readonly close: () => Promise<void>;
}

/**
 * Starts workerd with an empty queue. `script`: the bundle of queue-worker.ts. `maxBatchTimeout`: how many seconds it
 * waits for five messages. It hands over one batch after the other.
 */
export async function startQueueBridge(
  script: string,
  maxJobBytes: number,
  maxBatchTimeout: number,
): Promise<QueueBridge> {
  const receiver = deferred<(message: QueueMessage) => Promise<void>>();
  const dead: unknown[] = [];
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
            if (request.url.endsWith("/dead")) dead.push((body as { body: unknown }).body);
            else {
              const { id, isTaken } = body as { id: string; isTaken: boolean };
              settled.get(id)?.(isTaken);
            }
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
  return { driver, dead, close: () => running.dispose() };
}
