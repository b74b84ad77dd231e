import {
  createWebhookReceiver,
  memoryStore,
  type OutcomeReport,
  type WebhookRequest,
} from "../../src/index.js";
import { NOW_MS, TEST_SECRET } from "./deliveries.js";
import type { SigningReceiverOptions } from "./receiver-options.js";

/** A receiver at NOW_MS with the test secret, and what its handlers and `onOutcome` were given. */
export function recordingReceiver(options: Partial<SigningReceiverOptions> = {}) {
  const handled: unknown[] = [];
  const reports: OutcomeReport[] = [];
  const record = (value: unknown) => {
    handled.push(value);
  };
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: record, delete_my_data_event: record },
    logger: false,
    now: () => NOW_MS,
    // Small, as the default one reserves its room at once and tests make thousands of receivers.
    store: memoryStore({ maxEntries: 100 }),
    onOutcome: (report) => {
      reports.push(report);
    },
    ...options,
  });
  return {
    receive: (request: WebhookRequest) => receiver.receive(request),
    handled,
    reports,
    record,
  };
}
