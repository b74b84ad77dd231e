import { randomUUID } from "node:crypto";
import type { SqsClient, SqsMessage } from "../../../src/inbox/sqs/client.js";
import { freePort } from "../free-port.js";
import { installPlatform, loadFrom } from "../platform-packages.js";

interface Fauxqs {
  readonly address: string;
  stop(): Promise<void>;
  createQueue(name: string, options: { attributes: Record<string, string> }): { queueUrl: string };
}

/** A queue and its dead-letter queue. */
export interface SqsQueuePair {
  readonly queueUrl: string;
  readonly deadQueueUrl: string;
}

/** Starts an SQS of this machine: fauxqs, which the real SDK of AWS talks to. */
export async function startSqs() {
  const root = await installPlatform("sqs");
  const program = new URL("node_modules/fauxqs/dist/app.js", root);
  const { startFauxqs } = (await import(program.href)) as {
    readonly startFauxqs: (options: object) => Promise<Fauxqs>;
  };
  const server = await startFauxqs({ port: await freePort(), logger: false });
  const { SQS } = loadFrom(root, "@aws-sdk/client-sqs") as {
    SQS: new (config: object) => SqsClient & { destroy(): void };
  };
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const endpoint = `http://127.0.0.1:${new URL(server.address).port}`;
  const client = new SQS({ endpoint, region: "us-east-1", credentials });
  return {
    url: endpoint,
    client,
    /** Makes two empty queues. */
    makeQueues: (isFifo = false): SqsQueuePair => {
      const [queueUrl = "", deadQueueUrl = ""] = [randomUUID(), randomUUID()].map((name) =>
        isFifo
          ? server.createQueue(`${name}.fifo`, { attributes: { FifoQueue: "true" } }).queueUrl
          : server.createQueue(name, { attributes: {} }).queueUrl,
      );
      return { queueUrl, deadQueueUrl };
    },
    /** Takes the messages of a queue, as a consumer of another kind does. */
    take: async (queueUrl: string): Promise<readonly SqsMessage[]> => {
      const input = {
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: 0,
        VisibilityTimeout: 30,
        AttributeNames: ["All" as const],
        MessageAttributeNames: ["All"],
      };
      const { Messages = [] } = await client.receiveMessage(input, {
        abortSignal: AbortSignal.timeout(5_000),
      });
      return Messages;
    },
    close: async () => {
      client.destroy();
      await server.stop();
    },
  };
}
