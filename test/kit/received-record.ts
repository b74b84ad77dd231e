import { createWebhookReceiver, type Alarm, type OnlineDataEvent } from "../../src/index.js";
import { signedDelivery, TEST_SECRET } from "../../kit/signed-delivery.js";

/** The outcome of a real receiver for a record, and the records that its handlers get. */
export async function receivedRecord(record: { alarm: Alarm } | { event: OnlineDataEvent }) {
  const records: unknown[] = [];
  const handle = (one: unknown) => records.push(one);
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: { new_alarm: handle, delete_my_data_event: handle },
    logger: false,
  });
  const delivery = await signedDelivery({ ...record, secret: TEST_SECRET });
  const { outcome } = await receiver.receive(delivery);
  return { outcome, records };
}
