/** The webhook types of the gateway (GATEWAY.md, "Events"). */
export const WEBHOOK_TYPES = ["new_alarm", "delete_my_data_event"] as const;

/** `new_alarm` carries an alarm, `delete_my_data_event` an Online Data event. */
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** Whether the gateway documents this type. */
export function isWebhookType(type: string): type is WebhookType {
  return (WEBHOOK_TYPES as readonly string[]).includes(type);
}
