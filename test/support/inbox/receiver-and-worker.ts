import { randomUUID } from "node:crypto";
import { expect, vi } from "vitest";
import {
  inbox,
  type InboxJob,
  type JobReport,
  type QueueProducer,
} from "../../../src/inbox/index.js";
import {
  createWebhookReceiver,
  type WebhookHandlers,
  type WebhookReceiver,
} from "../../../src/index.js";
import { sampleAlarm, signedDelivery, type SignedDelivery } from "../../../kit/index.js";
import { inboxJobOf } from "../../../src/inbox/inbox-job.js";
import { NOW_MS, TEST_SECRET } from "../deliveries.js";
import type { InboxQueue } from "./inbox-engine.js";

/** A receiver that queues every delivery. A new one knows no deliveries, like a restarted process. */
export function inboxReceiver(driver: QueueProducer, putTimeoutMs?: number): WebhookReceiver {
  return createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: inbox({ driver, putTimeoutMs: putTimeoutMs }),
    logger: false,
  });
}

/** A logger that collects its lines with their details. */
export function watchedLog() {
  const lines: [string, unknown][] = [];
  const take = (line: string, details: unknown) => lines.push([line, details]);
  return { lines, logger: { warn: take, error: take } };
}

/** Starts a worker for alarms and collects its reports and log lines. */
export function watchWorker(
  { consume }: Pick<InboxQueue, "consume">,
  newAlarm: WebhookHandlers["new_alarm"],
  options: Partial<Parameters<InboxQueue["consume"]>[0]> = {},
) {
  const reports: JobReport[] = [];
  const lines: string[] = [];
  const take = (line: string) => lines.push(line);
  const stop = consume({
    handlers: { new_alarm: newAlarm },
    onJob: (report) => reports.push(report),
    logger: { warn: take, error: take },
    ...options,
  });
  return { reports, lines, stop };
}

/** Waits until a line contains the text. */
export function settlesAtLine(lines: readonly string[], text: string): Promise<void> {
  return settlesAt(() => lines.some((line) => line.includes(text)), true);
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
