import { describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/index.js";
import { cloudflareQueue, cloudflareQueueHandler } from "../../src/inbox/cloudflare/index.js";
import type { JobReport } from "../../src/inbox/index.js";
import { jobKeyOf } from "../../src/inbox/job-handling.js";
import { never } from "../support/deferred.js";
import { throwing } from "../support/faults.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";

interface Sent {
  readonly body: unknown;
  readonly delaySeconds: number | undefined;
}

/** A binding that keeps what it is sent. `failures`: how many sends fail first. */
function binding(failures = 0) {
  const sent: Sent[] = [];
  let left = failures;
  return {
    sent,
    send(body: unknown, options?: { delaySeconds?: number }) {
      left -= 1;
      if (left >= 0) return Promise.reject(new Error("Too Many Requests"));
      sent.push({ body: structuredClone(body), delaySeconds: options?.delaySeconds });
      return Promise.resolve();
    },
  };
}

/** A message that counts what is done with it. */
function message(body: unknown, attempts = 1) {
  const done: string[] = [];
  const one = {
    id: crypto.randomUUID(),
    timestamp: new Date(),
    body,
    attempts,
    ack: () => void done.push("ack"),
    retry: (options?: { delaySeconds?: number }) =>
      void done.push(`retry ${String(options?.delaySeconds)}`),
  };
  return { one, done };
}

function deployed(run: () => unknown, options: object = {}, failures = 0) {
  const [queue, deadQueue] = [binding(failures), binding()];
  const reports: JobReport[] = [];
  const handler = cloudflareQueueHandler({
    driver: cloudflareQueue({ queue, deadQueue }),
    store: memoryStore(),
    handlers: { new_alarm: run },
    onJob: (report) => reports.push(report),
    logger: false,
    ...options,
  });
  return { queue, deadQueue, reports, handler };
}

const failing = throwing(new TypeError("made up on purpose"));

describe("cloudflareQueueHandler", () => {
  it("a job that is done is acknowledged, and its second message runs nothing", async () => {
    const run = vi.fn();
    const { handler, queue } = deployed(run);
    const job = await alarmJob();
    for (const given of [message(job), message(job)]) {
      await handler({ messages: [given.one] });
      expect(given.done).toEqual(["ack"]);
    }
    expect(run).toHaveBeenCalledTimes(1);
    expect(queue.sent).toEqual([]);
  });

  it("a job that failed is sent anew with its delay and count, and dies at last", async () => {
    const { handler, queue, deadQueue, reports } = deployed(failing, { retryLimit: 2 });
    const job = await alarmJob();
    let body: unknown = job;
    for (const delaySeconds of [10, 20]) {
      const given = message(body);
      await handler({ messages: [given.one] });
      expect(given.done).toEqual(["ack"]);
      const last = queue.sent.at(-1);
      expect(last?.delaySeconds).toBe(delaySeconds);
      body = last?.body;
    }
    await handler({ messages: [message(body).one] });
    expect(reports.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ["handler_failed", 1],
      ["handler_failed", 2],
      ["dead", 3],
    ]);
    const error = "TypeError: made up on purpose";
    expect(deadQueue.sent).toMatchObject([{ body: { job, error, attempts: 3 } }]);
    // Sent to the queue as it is, it has all its attempts.
    await handler({ messages: [message(deadQueue.sent[0]?.body).one] });
    expect(reports.at(-1)).toMatchObject({ id: job.id, attempt: 1 });
  });

  it("a job that another worker runs is sent anew, without an attempt", async () => {
    const store = memoryStore();
    const { handler, queue, reports } = deployed(() => undefined, { store });
    const job = await alarmJob();
    const key = await jobKeyOf(job.id);
    await store.claim(key, "another", { leaseMs: 30_000, retentionMs: 259_200_000 });
    await handler({ messages: [message(job, 3).one] });
    expect(queue.sent).toMatchObject([{ body: { job, failedRuns: 2 }, delaySeconds: 30 }]);
    expect(reports).toEqual([]);
  });

  it.each([
    ["text", "x", "x"],
    ["a negative number", -1e9, -1],
    ["a number beyond all bounds", 1e300, 1e300],
    ["null", null, null],
  ])("a job whose counts are %s has all its attempts", async (_, failedRuns, putAt) => {
    const { handler, queue, reports } = deployed(failing);
    const job = await alarmJob();
    await handler({ messages: [message({ job, failedRuns, putAt }).one] });
    const again = { job, failedRuns: 1, putAt: expect.any(Number) as number };
    expect(queue.sent).toEqual([{ body: again, delaySeconds: 10 }]);
    expect(reports).toMatchObject([{ attempt: 1, waitedMs: expect.any(Number) as number }]);
    expect(reports[0]?.waitedMs).toBeLessThan(60_000);
  });

  it("a message whose result cannot be sent comes again", async () => {
    const { handler, queue } = deployed(failing, {}, 1);
    const given = message(await alarmJob());
    await handler({ messages: [given.one] });
    expect(given.done).toEqual(["retry 60"]);
    expect(queue.sent).toEqual([]);
  });

  it("what a consumer has not ended in its time comes again", async () => {
    vi.useFakeTimers();
    const signals: AbortSignal[] = [];
    const run = (_alarm: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return never();
    };
    const { handler } = deployed(run as () => unknown, { concurrency: 1 });
    const given = [message(await alarmJob()), message(await alarmJob())];
    const handling = handler({ messages: given.map(({ one }) => one) });
    await vi.advanceTimersByTimeAsync(900_000);
    await handling;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(given.map(({ done }) => done)).toEqual([["retry 60"], ["retry 60"]]);
  });
});
