export {
  createManagementClient,
  type ManagementClient,
  type ManagementClientOptions,
} from "./management-client.js";
export { crmLogin, type CrmSession } from "./crm-login.js";
export type { NewWebhook, Webhook } from "./webhook.js";
export { ManagementError, type ManagementErrorCode } from "./management-error.js";

export { createWebhookSecret, probeReceiver, type ProbeAnswer } from "./probe-receiver.js";
export { proveSecret, type SecretProof } from "./prove-secret.js";
export {
  registerWebhooks,
  type RegisterOptions,
  type RegisterResult,
} from "./register-webhooks.js";
export { checkWebhooks, type WebhookCheck } from "./check-webhooks.js";
export type { WebhookFindingCode, WebhookFinding } from "./webhook-findings.js";
export { rotateSecret, type RotateOptions, type RotateResult } from "./rotate-secret.js";
export {
  isOldSecretQuiet,
  secretFingerprint,
  secretMatches,
  watchOldSecret,
  type OldSecretState,
} from "./old-secret-watch.js";

export { attemptReader, type AttemptReader, type DeliveryAttempt } from "./attempt-reader.js";
export { recoverDelivery, recoverRecord } from "./recover-delivery.js";
export type { RecoverableDelivery, RecoverableRecord } from "../delivery/recovered-delivery.js";
export { reconcileDeliveries, type ReconcileOptions } from "./reconcile-deliveries.js";
export {
  reconcileMetrics,
  type MissingDelivery,
  type ReconcileReport,
} from "./reconcile-report.js";
