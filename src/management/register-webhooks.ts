import { ownOptions } from "../common/option-checks.js";
import type { WebhookType } from "../delivery/headers.js";
import { findingsOfType } from "./check-webhooks.js";
import type { ManagementClient } from "./management-client.js";
import { isInDoubt, ManagementError } from "./management-error.js";
import { statusOfGet } from "./probe-receiver.js";
import {
  checkProof,
  PROOF_OPTION_NAMES,
  proveSecret,
  type ProofOptions,
  type SecretProof,
} from "./prove-secret.js";
import type { WebhookFinding } from "./webhook-findings.js";
import { webhooksAt, type NewWebhook, type Webhook } from "./webhook.js";

/**
 * Options of `registerWebhooks`.
 *
 * @experimental
 */
export interface RegisterOptions extends ProofOptions {
  /** The receiver's HTTPS URL. */
  readonly url: string;
  /** The secret, which the receiver must have by now. `createWebhookSecret` makes one. */
  readonly secret: string;
  /** The label of each webhook. Default `identity-gateway-webhooks <type>`. */
  readonly title?: ((type: WebhookType) => string) | undefined;
}

/**
 * What became of a registration.
 *
 * @experimental
 */
export type RegisterResult =
  | {
      readonly result: "registered";
      /** The webhooks that were created. */
      readonly created: readonly Webhook[];
      /**
       * Webhooks of these types that the URL had before, or had when the gateway refused a second one. They are left as they
       * are; their secret is not known.
       */
      readonly existing: readonly Webhook[];
      /** What is wrong with the webhooks of these types now, as `checkWebhooks` finds it. */
      readonly findings: readonly WebhookFinding[];
    }
  /** The URL did not answer a GET with 2xx; `status` is undefined if it did not answer at all. */
  | { readonly result: "unreachable"; readonly status: number | undefined }
  /** The receiver does not accept the secret, or accepts any. Nothing was created. */
  | { readonly result: "secret_not_accepted"; readonly proof: SecretProof };

/** The refusals of a URL that has a webhook of the type. The gateway does not document which of them it is. */
const TAKEN: readonly string[] = ["conflict", "validation_failed"];

/**
 * Registers a receiver: checks that its URL answers a GET and that every replica accepts the secret, then creates one
 * webhook per type, active, with history on and TLS verified. It can be repeated: a type that the URL already has is
 * not created again. After a creation without a clear answer it looks at the list, and never creates a second time. A
 * webhook that the list shows after a creation that was refused is `existing`: someone else may have made it.
 *
 * Rejects with a `ManagementError`, and with a `ConfigurationError` for an invalid option.
 *
 * @experimental
 */
export async function registerWebhooks(
  client: ManagementClient,
  options: RegisterOptions,
): Promise<RegisterResult> {
  const names = ["url", "secret", "title", ...PROOF_OPTION_NAMES];
  const own = ownOptions("registerWebhooks", options, names);
  const { url, secret, signal, title = (type) => `identity-gateway-webhooks ${type}` } = own;
  const { types } = checkProof(own);
  const status = await statusOfGet(url, own);
  if (status === undefined || status < 200 || status > 299)
    return { result: "unreachable", status };
  // Before the proof, which may wait for a deploy: a wrong address or an old token shows at once.
  const known = await client.webhooks.list({ signal });
  const before = webhooksAt(url, types, known);
  const missing = types.filter((type) => before.every((webhook) => webhook.type !== type));
  if (missing.length > 0) {
    const proof = await proveSecret(url, [secret], own);
    if (proof.result !== "accepted") return { result: "secret_not_accepted", proof };
  }
  const created: Webhook[] = [];
  const existing = [...before];
  for (const type of missing) {
    const made = await createOnce(client, { title: title(type), url, type, secret }, signal);
    (made.isOwn ? created : existing).push(made.webhook);
  }
  const listed = await client.webhooks.list({ signal });
  const findings = types.flatMap((type) => findingsOfType(type, url, listed));
  return { result: "registered", created, existing, findings };
}

/** Creates a webhook that the URL does not have. `isOwn` is false if it may be of someone else, with another secret. */
async function createOnce(
  client: ManagementClient,
  webhook: NewWebhook,
  signal: AbortSignal | undefined,
): Promise<{ readonly webhook: Webhook; readonly isOwn: boolean }> {
  try {
    return { webhook: await client.webhooks.create(webhook, { signal }), isOwn: true };
  } catch (error) {
    if (!(error instanceof ManagementError)) throw error;
    // A creation that was done may be answered 503 by a proxy: the client repeats it, and the gateway refuses the second.
    // So the webhook is our own, or was made by someone else since we looked. Nothing tells which.
    const isTaken = TAKEN.includes(error.code);
    if (!isTaken && !isInDoubt(error)) throw error;
    const { type, url } = webhook;
    const listed = await client.webhooks.list({ signal });
    const [found] = webhooksAt(url, [type], listed);
    if (found === undefined) throw error;
    return { webhook: found, isOwn: !isTaken };
  }
}
