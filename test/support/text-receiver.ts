import { createWebhookReceiver, type WebhookReceiver } from "../../src/index.js";
import { TEST_SECRET } from "./deliveries.js";

/** A receiver whose handlers write the text of a record: that of an alarm, or the name of an event's site. */
export function textReceiver(write: (text: string) => unknown): WebhookReceiver {
  return createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    handlers: {
      new_alarm: ({ text }) => write(text),
      delete_my_data_event: ({ site_name }) => write(site_name ?? ""),
    },
  });
}
