/**
 * The codes of findings. A minor version may add codes.
 *
 * @experimental
 */
export type WebhookFindingCode =
  | "webhooks_not_available"
  | "missing_webhook"
  | "other_url"
  | "second_webhook"
  | "unexpected_type"
  | "inactive"
  | "no_secret"
  | "tls_not_verified"
  | "history_off"
  | "deliveries_refused"
  | "receiver_unreachable"
  | "receiver_refuses_get"
  | "receiver_unclear"
  | "other_secret"
  | "accepts_any_secret";

/** What each finding means for deliveries, and how to fix it. */
const FINDINGS: Readonly<Record<WebhookFindingCode, Pick<WebhookFinding, "consequence" | "fix">>> =
  {
    webhooks_not_available: {
      consequence: "The gateway shows no webhooks to this login, and probably delivers nothing.",
      fix: "Check that the address of the gateway (baseUrl) and its path are right, and that the token is a CRM token. If so, ask your account manager to enable webhooks (is_crm_webhooks_enabled).",
    },
    missing_webhook: {
      consequence: "No event of this type is delivered.",
      fix: "Run `webhooks register`, which creates it.",
    },
    other_url: {
      consequence: "All events of this type go to another URL, and none to this receiver.",
      fix: "Compare the URL that you gave with that of the webhook. If yours is right, change the webhook, or run `webhooks register` and delete the other one.",
    },
    second_webhook: {
      consequence:
        "Each event of this type is delivered twice, under two ids, so it is handled twice.",
      fix: "Delete or deactivate the webhook that is not in use.",
    },
    unexpected_type: {
      consequence: "Events arrive that the receiver does not expect, and are dropped or refused.",
      fix: "Delete the webhook, or give the receiver a handler and check with that type.",
    },
    inactive: {
      consequence: "No event of this type is delivered.",
      fix: "Find out who switched it off. Then set is_active to true, with the secret in the same update: `client.webhooks.update` of identity-gateway-webhooks/management.",
    },
    no_secret: {
      consequence: "Deliveries are not signed: the receiver refuses them, or believes anyone.",
      fix: "Run `webhooks rotate`, which sets a secret.",
    },
    tls_not_verified: {
      consequence: "Anyone between the gateway and the receiver can read the alarms.",
      fix: "Set skip_ssl_verification to false, with the secret in the same update.",
    },
    history_off: {
      consequence:
        "No attempt is stored, so lost deliveries cannot be found by `webhooks reconcile`.",
      fix: "Set enable_requests_history to true, with the secret in the same update.",
    },
    deliveries_refused: {
      consequence:
        "The gateway sends, and since that time nothing was answered 2xx: each delivery fails, and is given up after its last attempt, or at once.",
      fix: "If other_secret is found too, deploy the secret to the receiver: it has another one. If not, the receiver's log names the outcome of each refusal. `signature_mismatch` there: the gateway has another secret, so run `webhooks rotate`. Any other status than the receiver's: something in front answers, and `npx identity-gateway-webhooks explain <status>` says what. Then `webhooks reconcile` lists what was lost.",
    },
    receiver_unreachable: {
      consequence:
        "The URL does not answer: each delivery fails, and is given up after its last attempt.",
      fix: "Check DNS, the firewall and the certificate, and that the receiver runs.",
    },
    receiver_refuses_get: {
      consequence: "The URL answers GET without a 2xx, so the gateway may refuse to register it.",
      fix: "Route GET to the receiver too. It answers 200.",
    },
    receiver_unclear: {
      consequence:
        "What answers at the URL is no receiver of this library, or something in front of it.",
      fix: "Look at the answer: `curl -i` the URL, and ask `npx identity-gateway-webhooks explain <status>` what the status means. Something in front may answer: a proxy, a login page, a firewall. Run `doctor` only on a test deploy: it runs handlers.",
    },
    other_secret: {
      consequence: "The receiver does not accept the secret: each delivery is refused.",
      fix: "Deploy the secret to every replica, beside the one that it has.",
    },
    accepts_any_secret: {
      consequence: "The receiver accepts any signature, so anyone can send it alarms.",
      fix: "Remove acceptUnsignedDeliveries and give the receiver its secret.",
    },
  };

/** All codes. */
export const WEBHOOK_FINDING_CODES = Object.keys(FINDINGS) as readonly WebhookFindingCode[];

/**
 * One thing that is wrong.
 *
 * @experimental
 */
export interface WebhookFinding {
  /** The name of the finding, for code that branches on it. */
  readonly code: WebhookFindingCode;
  /** The webhook type that it concerns. Undefined for both. */
  readonly type?: string;
  /** The webhook that it concerns. */
  readonly webhookId?: string;
  /** HTTP status of the answer that it is about. Undefined if none arrived, or it is about none. */
  readonly status?: number | undefined;
  /** Since when the gateway's deliveries are refused. */
  readonly since?: Date;
  /** What happens because of it. */
  readonly consequence: string;
  /** What to do. */
  readonly fix: string;
}

/** Makes a finding about a webhook, a type or the receiver. */
export function finding(
  code: WebhookFindingCode,
  { type, id }: { readonly type?: string; readonly id?: string } = {},
  facts: Pick<WebhookFinding, "status" | "since"> = {},
): WebhookFinding {
  return {
    code,
    ...(type === undefined ? {} : { type }),
    ...(id === undefined ? {} : { webhookId: id }),
    ...facts,
    ...FINDINGS[code],
  };
}
