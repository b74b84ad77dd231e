import { expect, it } from "vitest";
import { queueDriverContract } from "../../kit/index.js";
import { cloudflareQueue } from "../../src/inbox/cloudflare/index.js";
import { bundleWorker } from "../support/cloudflare/bundle-worker.js";
import { missingMiniflare } from "../support/cloudflare/miniflare.js";
import { startQueueBridge } from "../support/cloudflare/queue-bridge.js";
import { describeService } from "../support/describe-service.js";
import { startedForAll } from "../support/started-for-all.js";

// Cloudflare calls the Worker, so the rules of polling, stopping, holding and killing have nothing to judge.
const JUDGED = [
  "put",
  "put-largest",
  "put-too-large",
  "put-same",
  "done",
  "retry-waits",
  "postponed",
  "dead",
];

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

  it("the contract has the rules that a queue can be judged by whose engine calls", () => {
    expect(judged).toHaveLength(JUDGED.length + 1);
  });

  it.concurrent.each(judged.map((one) => [one.title, one] as const))(
    "Cloudflare Queues keeps the contract: %s",
    async (_, { run }) => {
      expect(await run()).toEqual({ result: "passed" });
    },
  );
});
