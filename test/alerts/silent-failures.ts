/**
 * Twelve ways to lose deliveries while every process runs and every health check is green, and the alert
 * that must fire for each. The unit tests plant them in recorded numbers, `npm run alerts` in a real receiver.
 */
export const SILENT_FAILURES = [
  { id: "wrong-secret", title: "wrong secret after a deploy", alert: "GatewayWebhookNotAuthentic" },
  { id: "clock-off", title: "clock off by ten minutes", alert: "GatewayWebhookClockOff" },
  { id: "no-deliveries", title: "no deliveries", alert: "GatewayWebhookSilent" },
  {
    id: "no-secret-registered",
    title: "webhook registered without a secret",
    alert: "GatewayWebhookNotAuthentic",
  },
  { id: "parser-in-front", title: "body parser in front", alert: "GatewayWebhookBodyConsumed" },
  { id: "store-down", title: "store down", alert: "GatewayWebhookStoreFailing" },
  { id: "store-slow", title: "store slow", alert: "GatewayWebhookStoreFailing" },
  {
    id: "handler-slower",
    title: "handler slower each minute",
    alert: "GatewayWebhookHandlerSlow",
  },
  {
    id: "event-type-fails",
    title: "handler fails for one event type",
    alert: "GatewayWebhookHandlerFailing",
  },
  { id: "dead-jobs", title: "dead jobs", alert: "GatewayWebhookDeliveryLost" },
  { id: "hang-ups", title: "sender hangs up", alert: "GatewayWebhookAnswerLost" },
  { id: "unknown-types", title: "unknown event types", alert: "GatewayWebhookUnknownType" },
] as const;

export type SilentFailure = (typeof SILENT_FAILURES)[number];
export type FailureId = SilentFailure["id"];
