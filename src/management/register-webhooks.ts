import { ownOptions } from "../common/option-checks.js";
import { isWebhookType, type WebhookType } from "../delivery/headers.js";
import type { ManagementClient } from "./client.js";
import { statusOfGet } from "./probe-receiver.js";
import {
  PROOF_OPTION_NAMES,
  proveSecret,
  type ProofOptions,
  type SecretProof,
} from "./prove-secret.js";
import { checkProof } from "./prove-secret.js";
import { isSameUrl, type Webhook } from "./webhook.js";

/** Options of `registerWebhooks`. */
export interface RegisterOptions extends ProofOptions {
  /** The receiver's HTTPS URL. */
  readonly url: string;
  /** The secret, which the receiver must have by now. `createWebhookSecret` makes one. */
  readonly secret: string;
  /** The label of each webhook. Default `identity-gateway-webhooks <type>`. */
  readonly title?: ((type: WebhookType) => string) | undefined;
}

/** What became of a registration. */
export type RegisterResult =
  | {
      readonly result: "registered";
      /** The webhooks that were created. */
      readonly created: readonly Webhook[];
      /** Webhooks of these types that the URL had before. They are left as they are; their secret is not known. */
      readonly existing: readonly Webhook[];
    }
  /** The URL did not answer a GET with 2xx; `status` is undefined if it did not answer at all. */
  | { readonly result: "unreachable"; readonly status: number | undefined }
  /** The receiver does not accept the secret, or accepts any. Nothing was created. */
  | { readonly result: "secret_not_accepted"; readonly proof: SecretProof };

/**
 * Registers a receiver: checks that its URL answers a GET and that every replica accepts the secret, then creates one
 * webhook per type, active, with history on and TLS verified. It can be repeated: a type that the URL already has is
 * not created again.
 *
 * Rejects with a `ManagementError`, and with a `ConfigurationError` for an invalid option.
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
  const proof = await proveSecret(url, [secret], own);
  if (proof.result !== "accepted") return { result: "secret_not_accepted", proof };

  const known = await client.webhooks.list({ signal });
  const existing = known.filter(
    (webhook) =>
      isWebhookType(webhook.type) && types.includes(webhook.type) && isSameUrl(webhook.url, url),
  );
  const created: Webhook[] = [];
  for (const type of types) {
    if (existing.some((webhook) => webhook.type === type)) continue;
    const webhook = { title: title(type), url, type, secret };
    created.push(await client.webhooks.create(webhook, { signal }));
  }
  return { result: "registered", created, existing };
}
