export { createWebhookReceiver, type WebhookReceiver } from "./receiver.js";
export type { DrainOptions, DrainResult } from "./drain-options.js";
export type {
  CommonReceiverOptions,
  SigningReceiverOptions,
  UnsignedReceiverOptions,
  WebhookReceiverOptions,
} from "./options.js";
export type { SecretFunction, SecretList, SecretOption, SecretQuery } from "./secrets.js";
export type {
  Handler,
  Handlers,
  OnlineDataEventHandlers,
  UnrecognizedDelivery,
} from "./handlers.js";
export type { DeliveryContext } from "./delivery-context.js";
export type { DeliveryIssue } from "./decode.js";
export type { WebhookRequest } from "./request.js";
export { UnreadableBody, type UnreadableReason } from "./unreadable-body.js";
export type { WebhookHeaders } from "./headers.js";
export type { WebhookResponse } from "./answer.js";
export type { Outcome } from "./outcome.js";
export type { OutcomeReport } from "./report.js";
export type { AuthenticDelivery } from "./authentic-delivery.js";
export type { LogDetails, Logger } from "./logger.js";
export type { MaybePromise } from "./maybe-promise.js";
export type { WebhookType } from "./webhook-type.js";

export { signDelivery, type SignDeliveryOptions } from "./sign-delivery.js";
export { verifySignature, type VerifySignatureOptions } from "./verify-signature.js";

export { memoryStore, type MemoryStoreOptions } from "./stores/memory-store.js";
export {
  compactMemoryStore,
  type CompactMemoryStoreOptions,
} from "./stores/compact-memory-store.js";
export type { ClaimResult, ClaimTimes, DeliveryStore } from "./stores/delivery-store.js";
export type { ProcessResult, TransactionalStore, WorkFacts } from "./stores/transactional-store.js";

export {
  alarmSchema,
  deleteMyDataEventSchema,
  isKnownOnlineDataEvent,
  newAlarmSchema,
  onlineDataEventSchema,
  type Alarm,
  type AlarmEventType,
  type AlarmSeverity,
  type AlarmSource,
  type AlarmStatus,
  type BureauSource,
  type KnownOnlineDataEvent,
  type OnlineDataEvent,
  type OnlineDataEventType,
  type OnlineDataSeverity,
  type OpenOnlineDataEvent,
} from "./schemas.js";
export {
  AlarmPayloadError,
  parseAlarmPayload,
  type AlarmPayloadErrorCode,
} from "./alarm-payload.js";
export type {
  StandardSchema,
  StandardSchemaIssue,
  StandardSchemaResult,
} from "./standard-schema.js";
export { parseGatewayTime } from "./gateway-time.js";

export {
  DiscardDelivery,
  RetryLater,
  ThrewUndefinedError,
  type RetryLaterOptions,
} from "./handler-errors.js";
export { DeadlineError } from "./deadline.js";
export { InvalidValueError, type InvalidValueErrorCode } from "./invalid-value.js";
export { LeaseLostError } from "./perform.js";
export { NoUsableSecretError } from "./secrets.js";
export { TransactionLostError } from "./transaction.js";
export { MemoryStoreFullError } from "./stores/in-process-store.js";
export { UnexpectedResultError } from "./stores/unexpected-result.js";
export { ConfigurationError, type ConfigurationErrorCode } from "./configuration-error.js";
