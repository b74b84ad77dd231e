export {
  createManagementClient,
  type CallOptions,
  type ManagementClient,
  type ManagementClientOptions,
} from "./management-client.js";
export type { ConnectionOptions, FetchFunction } from "./call-settings.js";
export type { TokenOption } from "./token-source.js";
export type { NextPage } from "./list-pages.js";
export type { UpdateOptions } from "./update-webhook.js";
export { crmLogin, type CrmLoginOptions, type CrmSession } from "./crm-login.js";
export type { NewWebhook, Webhook, WebhookChanges } from "./webhook.js";
export { ManagementError, type ErrorDetail, type ManagementErrorCode } from "./management-error.js";

export {
  createWebhookSecret,
  probeReceiver,
  type ProbeAnswer,
  type ProbeOptions,
} from "./probe-receiver.js";
export { proveSecret, type ProofOptions, type SecretProof } from "./prove-secret.js";
export {
  registerWebhooks,
  type RegisterOptions,
  type RegisterResult,
} from "./register-webhooks.js";
export { checkWebhooks, type CheckOptions, type WebhookCheck } from "./check-webhooks.js";
export type { WebhookFindingCode, WebhookFinding } from "./webhook-findings.js";
export { rotateSecret, type RotateOptions, type RotateResult } from "./rotate-secret.js";
export {
  isOldSecretQuiet,
  oldSecretMatches,
  watchOldSecret,
  type OldSecretState,
} from "./old-secret-watch.js";

export {
  attemptReader,
  type AttemptPaths,
  type AttemptReader,
  type DeliveryAttempt,
} from "./attempt-reader.js";
export { recoverDelivery } from "./recover-delivery.js";
export type { RecoverableDelivery } from "../delivery/recovered-delivery.js";
export {
  reconcileDeliveries,
  reconcileMetrics,
  type MissingDelivery,
  type ReconcileOptions,
  type ReconcileReport,
} from "./reconcile-deliveries.js";
