import { randomUUID } from "node:crypto";
import { expect, vi } from "vitest";
import { inbox, type Enqueue } from "../../../src/inbox/index.js";
import { createWebhookReceiver, type WebhookReceiver } from "../../../src/index.js";
import { sampleAlarm, signedDelivery, type SignedDelivery } from "../../../src/testing/index.js";
import { TEST_SECRET } from "../deliveries.js";

/** A receiver that queues every delivery. A new one knows no deliveries, like a restarted process. */
export function inboxReceiver(enqueue: Enqueue, enqueueTimeoutMs?: number): WebhookReceiver {
  return createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: inbox({ enqueue, enqueueTimeoutMs }),
    logger: false,
  });
}

/** A signed alarm with its own `account_id`. */
export function alarmDelivery(account: number, id: string = randomUUID()): Promise<SignedDelivery> {
  return signedDelivery({ alarm: sampleAlarm({ account_id: account }), secret: TEST_SECRET, id });
}

/** Waits until `read` returns `expected`. */
export async function settlesAt<T>(read: () => T | Promise<T>, expected: T): Promise<void> {
  await vi.waitFor(async () => {
    expect(await read()).toEqual(expected);
  }, PATIENCE);
}

/** Long enough for the job of a crashed worker on a busy machine. */
const PATIENCE = { timeout: 30_000, interval: 50 };
