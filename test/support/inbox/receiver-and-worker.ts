import { randomUUID } from "node:crypto";
import { expect, vi } from "vitest";
import {
  inbox,
  inboxConsume,
  type InboxConsumeOptions,
  type InboxJob,
  type JobReport,
  type QueueConsumer,
  type QueueProducer,
} from "../../../src/inbox/index.js";
import {
  createWebhookReceiver,
  memoryStore,
  type WebhookHandlers,
  type WebhookReceiver,
  type WebhookTelemetry,
} from "../../../src/index.js";
import { sampleAlarm, signedDelivery, type SignedDelivery } from "../../../kit/index.js";
import { inboxJobOf } from "../../../src/inbox/inbox-job.js";
import { CANARIES, canaryAlarm, shownOf } from "../canaries.js";
import { delivery, NOW_MS, TEST_SECRET } from "../deliveries.js";
import { rejects } from "../faults.js";

/** A receiver that queues every delivery. A new one knows no deliveries, like a restarted process. */
export function inboxReceiver(
  driver: QueueProducer,
  putTimeoutMs?: number,
  telemetry?: WebhookTelemetry,
): WebhookReceiver {
  return createWebhookReceiver({
    secret: TEST_SECRET,
    // A message of NATS has at most 1 MiB, and one of a Worker 128 kB.
    maxBodyBytes: 50_000,
    handlers: inbox({ driver, putTimeoutMs, telemetry }),
    logger: false,
    telemetry,
  });
}

/** A queue that keeps the jobs that are put. */
export function keepingQueue() {
  const jobs: InboxJob[] = [];
  const put = (job: InboxJob) => Promise.resolve(jobs.push(job));
  return { jobs, driver: { put } };
}

/** Queues an alarm by a receiver of its own. Resolves to the answer. */
export async function queueAlarm(driver: QueueProducer, account = 1, id?: string) {
  return inboxReceiver(driver).receive(await alarmDelivery(account, id));
}

/** A logger that collects its lines with their details. */
export function watchedLog() {
  const lines: [string, unknown][] = [];
  const take = (line: string, details: unknown) => lines.push([line, details]);
  return { lines, logger: { warn: take, error: take } };
}

/** Starts a worker for alarms and collects its reports and log lines. */
export function watchWorker(
  driver: QueueConsumer,
  newAlarm: WebhookHandlers["new_alarm"],
  options: Partial<InboxConsumeOptions> = {},
) {
  const reports: JobReport[] = [];
  const lines: string[] = [];
  const take = (line: string) => lines.push(line);
  const { stop } = inboxConsume({
    driver,
    store: memoryStore(),
    // A second job of a delivery must not hold a test up.
    leaseMs: 4_000,
    handlers: { new_alarm: newAlarm },
    onJob: (report) => reports.push(report),
    logger: { warn: take, error: take },
    ...options,
  });
  return { reports, lines, stop };
}

/** Starts a worker that fails each job for good. */
export function failingWorker(driver: QueueConsumer) {
  return watchWorker(driver, rejects, { retryLimit: 0 });
}

/** A signed alarm with its own `account_id`. */
export function alarmDelivery(account: number, id: string = randomUUID()): Promise<SignedDelivery> {
  return signedDelivery({ alarm: sampleAlarm({ account_id: account }), secret: TEST_SECRET, id });
}

/** The job of an alarm with this id. */
export async function alarmJob(id: string = randomUUID()): Promise<InboxJob> {
  const { body, headers } = await alarmDelivery(1, id);
  const type = headers["X-Webhook-Type"];
  const rawBody = Buffer.from(body);
  return inboxJobOf({ id, type, timestamp: new Date(NOW_MS), rawBody } as never);
}

/** Waits until `read` returns `expected`. */
export async function settlesAt<T>(read: () => T | Promise<T>, expected: T): Promise<void> {
  await vi.waitFor(async () => expect(await read()).toEqual(expected), PATIENCE);
}

/** Long enough for the job of a crashed worker on a busy machine. */
const PATIENCE = { timeout: 30_000, interval: 50 };

/** Sends one delivery full of canary values. Returns the outcome and all texts about it. */
export async function deliverCanaries(driver: QueueProducer) {
  const { secret } = CANARIES;
  const { lines, logger } = watchedLog();
  const reports: unknown[] = [];
  const receiver = createWebhookReceiver({
    secret,
    logger,
    maxBodyBytes: 50_000,
    now: () => NOW_MS,
    handlers: inbox({ driver }),
    onOutcome: (report) => reports.push(report),
  });
  const body = JSON.stringify({ alarm: canaryAlarm() });
  const answer = await receiver.receive(await delivery({ secret, body, id: randomUUID() }));
  return { outcome: answer.outcome, said: shownOf(answer, ...reports, ...lines.flat()) };
}
