import fc from "fast-check";
import type { Alarm, OnlineDataEvent } from "../../src/index.js";
import type { DateFormat } from "../../kit/samples/sample-options.js";
import { signedDelivery, TEST_SECRET } from "../../kit/signed-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** How the dates of each format look. */
export const FORMATS: Record<DateFormat, RegExp> = {
  legacy: /^2026-\d\d-\d\d \d\d:\d\d:\d\d$/,
  standardized: /^2026-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
};
export const seeds = fc.integer({ min: 0, max: 0xffff_ffff });
export const formats = fc.constantFrom<DateFormat>("legacy", "standardized");

/** The outcome of a real receiver for a record, and the records that its handlers get. */
export async function receivedRecord(record: { alarm: Alarm } | { event: OnlineDataEvent }) {
  const { receiver, handled } = recordingReceiver({ now: Date.now });
  const delivery = await signedDelivery({ ...record, secret: TEST_SECRET });
  const { outcome } = await receiver.receive(delivery);
  return { outcome, records: handled };
}
