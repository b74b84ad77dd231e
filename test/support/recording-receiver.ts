import {
  createWebhookReceiver,
  memoryStore,
  type WebhookReceiverOptions,
  type WebhookRequest,
} from "../../src/index.js";
import { createCollector } from "./collector.js";
import { NOW_MS, TEST_SECRET } from "./deliveries.js";

/** A receiver at NOW_MS with the test secret. Records its reports, its log lines and the arguments of its handlers. */
export function recordingReceiver(options: Partial<WebhookReceiverOptions> = {}) {
  const { options: observers, lines, reports } = createCollector();
  const handled: unknown[] = [];
  const record = (value: unknown) => {
    handled.push(value);
  };
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: record, delete_my_data_event: record },
    now: () => NOW_MS,
    // Small, because tests make thousands of receivers.
    store: memoryStore({ maxEntries: 100 }),
    ...observers,
    ...options,
  } as WebhookReceiverOptions);
  return {
    receiver,
    receive: (request: WebhookRequest) => receiver.receive(request),
    handled,
    reports,
    lines,
    record,
  };
}

/** A recording receiver that takes every delivery for authentic. */
export function trustingReceiver(options: Partial<WebhookReceiverOptions> = {}) {
  return recordingReceiver({ ...options, secret: undefined, acceptUnsignedDeliveries: true });
}
