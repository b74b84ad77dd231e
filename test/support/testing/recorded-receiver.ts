import {
  createWebhookReceiver,
  type WebhookReceiver,
  type WebhookReceiverOptions,
} from "../../../src/index.js";
import type { FixtureRefusal } from "../../../kit/recorder/fixture-refusal.js";
import {
  recordFixtures,
  type FixtureRecorder,
  type RecordFixturesOptions,
} from "../../../kit/recorder/record-fixtures.js";
import { NOW_MS, delivery, type DeliveryOverrides } from "../deliveries.js";

/** The secret of a partner whose deliveries are recorded. */
export const PARTNERS_SECRET = "whsec_of_the_partner";

/** A receiver that records, and what its recorder tells. */
export interface RecordedReceiver {
  readonly receiver: WebhookReceiver;
  readonly recorder: FixtureRecorder;
  readonly refusals: FixtureRefusal[];
  readonly files: string[];
}

/** Makes a receiver for alarms whose deliveries are recorded. */
export function recordedReceiver(
  options: RecordFixturesOptions,
  receiverOptions: Partial<WebhookReceiverOptions> = {},
): RecordedReceiver {
  const refusals: FixtureRefusal[] = [];
  const files: string[] = [];
  const recorder = recordFixtures({
    onRefused: (refusal) => refusals.push(refusal),
    onRecorded: (file) => files.push(file),
    ...options,
  });
  const receiver = createWebhookReceiver({
    secret: PARTNERS_SECRET,
    handlers: { new_alarm: () => undefined },
    logger: false,
    now: () => NOW_MS,
    onAuthenticDelivery: recorder,
    ...receiverOptions,
  } as WebhookReceiverOptions);
  return { recorder, receiver, refusals, files };
}

/** A delivery to the partner. */
export function partnersDelivery(overrides: DeliveryOverrides = {}) {
  return delivery({ secret: PARTNERS_SECRET, ...overrides });
}
