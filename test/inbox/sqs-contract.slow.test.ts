import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sampleAlarm, signedDelivery } from "../../kit/index.js";
import { memoryStore, type WebhookHandlers } from "../../src/index.js";
import type { InboxJob, JobReport } from "../../src/inbox/index.js";
import { jobKeyOf } from "../../src/inbox/job-handling.js";
import type { SqsMessage } from "../../src/inbox/sqs/client.js";
import type { SqsEvent, SqsHandlerOptions } from "../../src/inbox/sqs/handler.js";
import { sqsHandler, sqsQueue } from "../../src/inbox/sqs/index.js";
import { compileUses } from "../support/compile-uses.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { deferred } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import { killable } from "../support/inbox/killable.js";
import { keepsContract } from "../support/inbox/queue-matrix.js";
import { alarmJob, inboxReceiver } from "../support/inbox/receiver-and-worker.js";
import { startSqs, type SqsQueuePair } from "../support/inbox/sqs-engine.js";
import { startedForAll } from "../support/started-for-all.js";

const engine = startedForAll(startSqs);
const HOLD_MS = 2_000;
const inTime = () => ({ abortSignal: AbortSignal.timeout(5_000) });

describe.each([
  ["a Standard queue", false],
  ["a FIFO queue", true],
])("%s of SQS", (title, isFifo) => {
  keepsContract(
    `${title} of SQS`,
    () => {
      const { client, makeQueues } = engine();
      const alive = killable(client);
      const queues = makeQueues(isFifo);
      return {
        driver: sqsQueue({ client: alive.client, ...queues }),
        otherClient: sqsQueue({ client, ...queues }),
        kill: alive.kill,
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
            await client.sendMessage(isFifo ? { ...input, ...fifo } : input, inTime());
          }
          return strange.length;
        },
      };
    },
    [],
    { holdMs: HOLD_MS, isConcurrent: true },
  );
});

describe("SQS whose answers are read late", () => {
  it("a worker that read its receipt late cannot bury another's job", async () => {
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

const ENOUGH_MS = 60_000;

const eventOf = (messages: readonly SqsMessage[], isFifo = false): SqsEvent => ({
  Records: messages.map((message) => ({
    messageId: String(message.MessageId),
    receiptHandle: String(message.ReceiptHandle),
    body: String(message.Body),
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(
      Object.entries(message.MessageAttributes ?? {}).map(([name, { StringValue }]) => [
        name,
        { stringValue: StringValue },
      ]),
    ),
    eventSource: "aws:sqs",
    eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:q${isFifo ? ".fifo" : ""}`,
  })),
});

/** A queue with a function behind it. */
function deployed(
  alarms: WebhookHandlers["new_alarm"],
  options: Partial<SqsHandlerOptions> = {},
  isFifo = false,
  queueOptions: object = {},
) {
  const { client, makeQueues, take } = engine();
  const queues = makeQueues(isFifo);
  const driver = sqsQueue({ client, ...queues, ...queueOptions });
  const reports: JobReport[] = [];
  const handler = sqsHandler({
    driver,
    store: memoryStore(),
    handlers: { new_alarm: alarms },
    onJob: (report) => reports.push(report),
    logger: false,
    ...options,
  });
  /** Does what Lambda's event source does once: takes a batch, and deletes what has not failed. */
  const poll = async (leftMs = ENOUGH_MS) => {
    const messages = await take(queues.queueUrl);
    const context = { getRemainingTimeInMillis: () => leftMs };
    const { batchItemFailures } = await handler(eventOf(messages, isFifo), context);
    const failed = batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
    for (const { MessageId = "", ReceiptHandle = "" } of messages) {
      if (failed.includes(MessageId)) continue;
      const one = { QueueUrl: queues.queueUrl, ReceiptHandle };
      await client.deleteMessage(one, inTime());
    }
    return { taken: messages.length, failed: failed.length };
  };
  return { ...queues, driver, handler, reports, poll };
}

/** How many messages a queue has. */
const inAll = async ({ queueUrl }: SqsQueuePair): Promise<number> => {
  const input = { QueueUrl: queueUrl, AttributeNames: ["All"] } as never;
  const { Attributes } = await engine().client.getQueueAttributes(input, inTime());
  const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
  return names.reduce((sum, name) => sum + Number(Attributes?.[name]), 0);
};

/** Polls until a batch has messages. */
async function nextBatch(poll: () => Promise<{ taken: number; failed: number }>) {
  for (;;) {
    const result = await poll();
    if (result.taken > 0) return result;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const failing = throwing(new TypeError("made up on purpose"));

describe("sqsHandler behind the event source of Lambda", () => {
  it("a message that is done is left to Lambda, which deletes it", async () => {
    const ran: string[] = [];
    const made = deployed((_alarm, { id }) => ran.push(id));
    const [one, other] = [await alarmJob(), await alarmJob()];
    for (const job of [one, other, one]) await made.driver.put(job, undefined);
    const messages = await engine().take(made.queueUrl);
    expect(await made.handler(eventOf(messages))).toEqual({ batchItemFailures: [] });
    expect(await inAll(made)).toBe(3);
    expect(ran.toSorted()).toEqual([one.id, other.id].toSorted());
  });

  it("a message that failed is hidden for its delay and counts its attempts", async () => {
    const attempts: number[] = [];
    const onJob = ({ attempt }: JobReport) => attempts.push(attempt);
    const made = deployed(failing, { retryDelayMs: 2_000, onJob });
    await made.driver.put(await alarmJob(), undefined);
    const since = performance.now();
    expect(await made.poll()).toEqual({ taken: 1, failed: 1 });
    expect(await nextBatch(made.poll)).toEqual({ taken: 1, failed: 1 });
    expect(performance.now() - since).toBeGreaterThanOrEqual(1_999);
    expect(attempts).toEqual([1, 2]);
  });

  it("a dead job goes to the dead-letter queue with its reason", async () => {
    const made = deployed(failing, { retryLimit: 0 });
    const job = await alarmJob();
    await made.driver.put(job, undefined);
    expect(await made.poll()).toEqual({ taken: 1, failed: 0 });
    expect(made.reports).toMatchObject([{ outcome: "dead", id: job.id }]);
    expect(await inAll(made)).toBe(0);
    const [dead] = await engine().take(made.deadQueueUrl);
    expect(JSON.parse(String(dead?.Body))).toEqual(job);
    expect(dead?.MessageAttributes).toMatchObject({
      Attempts: { StringValue: "1" },
      Error: { StringValue: "TypeError: made up on purpose" },
    });
  });

  it("a message whose delivery another worker runs is sent anew, hidden", async () => {
    const store = memoryStore();
    const reports: JobReport[] = [];
    const made = deployed(() => undefined, { store, onJob: (report) => reports.push(report) });
    const job = await alarmJob();
    const key = await jobKeyOf(job.id);
    await store.claim(key, "another", { leaseMs: 1_500, retentionMs: 259_200_000 });
    await made.driver.put(job, undefined);
    expect(await made.poll()).toEqual({ taken: 1, failed: 0 });
    expect(await inAll(made)).toBe(1);
    // It is hidden at its first receipt, so it stays in the queue.
    expect(await nextBatch(made.poll)).toEqual({ taken: 1, failed: 1 });
    expect(await nextBatch(made.poll)).toEqual({ taken: 1, failed: 0 });
    expect(reports).toMatchObject([{ outcome: "handled", attempt: 1, takeover: true }]);
  });

  it("a message that failed holds up its group of a FIFO queue, and no other", async () => {
    const ran: string[] = [];
    const made = deployed(
      (_alarm, { id }) => {
        ran.push(id);
        if (id.startsWith("bad")) throw new Error("no");
      },
      {},
      true,
    );
    const ids = ["bad", "behind", "apart"];
    const jobs = await Promise.all(ids.map((id) => alarmJob(id)));
    for (const job of jobs) await made.driver.put(job, undefined);
    const messages = await engine().take(made.queueUrl);
    const { Records } = eventOf(messages, true);
    const sorted = ids.flatMap((id) => Records.filter(({ body }) => body.includes(`"${id}"`)));
    const grouped = sorted.map((record, at) => {
      const attributes = { ...record.attributes, MessageGroupId: at === 2 ? "b" : "a" };
      return { ...record, attributes };
    });
    const failed = await made.handler({ Records: grouped });
    const expected = sorted.slice(0, 2).map((one) => ({ itemIdentifier: one.messageId }));
    expect(failed.batchItemFailures).toEqual(expected);
    expect(ran.toSorted()).toEqual(["apart", "bad"]);
  });

  it("the function returns before its time-out, and keeps what has not ended", async () => {
    const begun: AbortSignal[] = [];
    const never = deferred<undefined>();
    const made = deployed(
      (_alarm, { signal }) => {
        begun.push(signal);
        return never.promise;
      },
      { concurrency: 1, retryLimit: 0 },
    );
    for (let n = 0; n < 2; n += 1) await made.driver.put(await alarmJob(), undefined);
    expect(await made.poll(1_000)).toEqual({ taken: 2, failed: 2 });
    expect(begun.map(({ aborted }) => aborted)).toEqual([true]);
    // A late failure, in a thawed process, must not bury the run of another worker.
    never.reject(new Error("late"));
    await expect.poll(() => made.reports.length).toBe(1);
    expect(made.reports[0]?.outcome).toBe("handler_failed");
    expect(await inAll({ ...made, queueUrl: made.deadQueueUrl })).toBe(0);
  });

  it("the last attempt before maxReceiveCount is reported as dead", async () => {
    const made = deployed(failing, { retryDelayMs: 1_000 }, false, { maxReceiveCount: 2 });
    await made.driver.put(await alarmJob(), undefined);
    await made.poll();
    await nextBatch(made.poll);
    expect(made.reports.map(({ outcome }) => outcome)).toEqual(["handler_failed", "dead"]);
  });

  it.each([
    ["of a web request", { httpMethod: "POST", body: "{}" }],
    ["of another queue", { Records: [{ eventSource: "aws:kinesis" }] }],
    ["that is nothing", undefined],
  ])("an event %s is refused, so that nothing is taken for done", async (_, event) => {
    const made = deployed(() => undefined);
    await expect(made.handler(event as never)).rejects.toMatchObject({ code: "no_sqs_event" });
  });
});

it("a delivery with characters that SQS refuses comes out as it was", async () => {
  const { client, makeQueues, take } = engine();
  const { queueUrl } = makeQueues();
  const driver = sqsQueue({ client, queueUrl });
  const text = "\uFFFE and \uFFFF";
  const sent = await signedDelivery({ alarm: sampleAlarm({ text }), secret: TEST_SECRET });
  const { outcome } = await inboxReceiver(driver).receive(sent);
  expect(outcome).toBe("handled");
  const [message] = await take(queueUrl);
  expect((JSON.parse(String(message?.Body)) as InboxJob).body).toBe(sent.body);
});

it("sqsQueue accepts the SQS of the AWS SDK, and no SQSClient", async () => {
  const uses = `
import { SQS, SQSClient } from "@aws-sdk/client-sqs";
import { sqsHandler, sqsQueue } from "identity-gateway-webhooks/sqs";

const [queueUrl, deadQueueUrl] = ["https://sqs.eu-central-1.amazonaws.com/1/q", "https://sqs.eu-central-1.amazonaws.com/1/d"];
const client = new SQS({});
const driver = sqsQueue({ client, queueUrl, deadQueueUrl });
const { put } = sqsQueue({ client, queueUrl, maxMessageBytes: 1_048_576 });
// @ts-expect-error: it has no method for each operation
sqsQueue({ client: new SQSClient({}), queueUrl });
// @ts-expect-error: without deadQueueUrl it receives nothing
sqsQueue({ client, queueUrl }).receive;
// @ts-expect-error: store and handlers are required
sqsHandler({ driver });
void put;
`;
  expect(await compileUses("sqs", uses)).toBe("");
});
