export { createWebhookReceiver, type WebhookReceiver } from "./receiver.js";
export type { HealthReason, ReceiverHealth } from "./telemetry/health.js";
export type { HealthReasonCode } from "./telemetry/health-reasons.js";
export type { OnceOption, RecordOfDelivery } from "./handling/once-per-record.js";
export type { DrainResult, WebhookReceiverOptions } from "./options/options.js";
export type { SecretFunction, SecretOption } from "./signature/secrets.js";
export type {
  WebhookHandler,
  WebhookHandlers,
  OnlineDataEventHandlers,
  UnrecognizedDelivery,
} from "./handling/handlers.js";
export type { DeliveryContext, DeliveryFacts } from "./handling/delivery-context.js";
export type { WebhookRequest } from "./delivery/request.js";
export type { WebhookType } from "./delivery/headers.js";
export type { WebhookResponse } from "./answer/answer.js";
export type { UnverifiableOption, WebhookOutcome } from "./answer/outcome.js";
export type { AuthenticDelivery, OutcomeReport } from "./answer/observers.js";
export type { LogDetails, WebhookLogger } from "./answer/logger.js";
export type { WebhookTelemetry, TelemetryWork } from "./telemetry/telemetry.js";

export { metricsText, type MetricsTextOptions } from "./telemetry/metrics-text.js";

export { signDelivery } from "./signature/sign-delivery.js";
export { verifySignature } from "./signature/verify-signature.js";

export { memoryStore } from "./stores/memory-store.js";
export type { ClaimResult, DeliveryStore } from "./stores/delivery-store.js";
export type { ProcessResult, TransactionalStore } from "./stores/transactional-store.js";

export {
  ALARM_CATEGORIES,
  watchlistItemOf,
  type Alarm,
  type AlarmEventType,
  type AlarmSeverity,
} from "./records/alarm.js";
export {
  isKnownOnlineDataEvent,
  removalStatusOf,
  type DataDeletedEvent,
  type DataReappearedEvent,
  type DeletionRequestSentEvent,
  type KnownOnlineDataEvent,
  type OnlineDataEvent,
  type OnlineDataEventType,
  type PersonalDataFoundEvent,
  type PersonalDataNotFoundEvent,
  type PowerOfAttorneySignedEvent,
  type UnknownOnlineDataEvent,
  type UserManualInstructionsSentEvent,
} from "./records/online-data-event.js";
export { extraFields } from "./records/extra-fields.js";
export {
  AlarmPayloadError,
  parseAlarmPayload,
  type AlarmPayloadErrorCode,
} from "./records/alarm-payload.js";
export { parseGatewayTime } from "./records/gateway-time.js";

export { DiscardDelivery, RetryLater } from "./handling/handler-errors.js";
export { DeadlineError } from "./common/timers.js";
export {
  ConfigurationError,
  GatewayWebhookError,
  type ConfigurationErrorCode,
} from "./common/errors.js";
