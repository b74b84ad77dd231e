export { createWebhookReceiver, type WebhookReceiver } from "./receiver.js";
export type {
  HealthOptions,
  HealthRatios,
  HealthReason,
  ReceiverHealth,
} from "./telemetry/health.js";
export type { HealthReasonCode, HealthStatus } from "./telemetry/health-reasons.js";
export type { Duration } from "./telemetry/expect-every.js";
export type { DrainOptions, DrainResult, WebhookReceiverOptions } from "./options/options.js";
export type { SecretFunction, SecretList, SecretOption, SecretQuery } from "./signature/secrets.js";
export type {
  WebhookHandler,
  WebhookHandlers,
  OnlineDataEventHandlers,
  UnrecognizedDelivery,
} from "./handling/handlers.js";
export type { DeliveryContext } from "./handling/delivery-context.js";
export type { DeliveryIssue } from "./records/decoded.js";
export type { HostDeadline, WebhookRequest } from "./delivery/request.js";
export type { WebhookHeaders } from "./delivery/header-values.js";
export type { WebhookType } from "./delivery/headers.js";
export type { WebhookResponse } from "./answer/answer.js";
export type { WebhookOutcome } from "./answer/outcome.js";
export type { AuthenticDelivery, HandledDelivery, OutcomeReport } from "./answer/observers.js";
export type { LogDetails, WebhookLogger } from "./answer/logger.js";
export type {
  SendReport,
  SentJob,
  StartedJob,
  WebhookTelemetry,
  TelemetryWork,
  TraceCarrier,
} from "./telemetry/telemetry.js";

export { metricsText } from "./telemetry/metrics-text.js";

export { signDelivery, type SignDeliveryOptions } from "./signature/sign-delivery.js";
export { verifySignature, type VerifySignatureOptions } from "./signature/verify-signature.js";

export { memoryStore, type MemoryStoreOptions } from "./stores/memory-store.js";
export type {
  ClaimOptions,
  ClaimResult,
  CompleteOptions,
  DeliveryStore,
  RenewOptions,
  StoreConnection,
} from "./stores/delivery-store.js";
export type { ProcessResult, TransactionalStore, WorkFacts } from "./stores/transactional-store.js";

export type {
  Alarm,
  AlarmEventType,
  AlarmSeverity,
  AlarmSource,
  AlarmStatus,
  BureauSource,
} from "./records/alarm.js";
export {
  isKnownOnlineDataEvent,
  type DataDeletedEvent,
  type DataReappearedEvent,
  type DeletionRequestSentEvent,
  type KnownOnlineDataEvent,
  type OnlineDataEvent,
  type OnlineDataEventType,
  type OnlineDataSeverity,
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

export {
  DiscardDelivery,
  RetryLater,
  type DiscardDeliveryOptions,
  type RetryLaterOptions,
} from "./handling/handler-errors.js";
export { DeadlineError } from "./common/timers.js";
export {
  ConfigurationError,
  GatewayWebhookError,
  type ConfigurationErrorCode,
} from "./common/errors.js";
