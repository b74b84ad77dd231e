import { invalidOption } from "../common/errors.js";
import { ownOptions } from "../common/option-checks.js";
import type { ManagementClient } from "./management-client.js";
import { advised, ManagementError } from "./management-error.js";
import {
  checkProof,
  PROOF_OPTION_NAMES,
  proveSecret,
  type ProofOptions,
  type SecretProof,
} from "./prove-secret.js";
import { webhooksAt, type Webhook } from "./webhook.js";

/**
 * Options of `rotateSecret`.
 *
 * @experimental
 */
export interface RotateOptions extends ProofOptions {
  /** The receiver's URL, at which its webhooks are registered. */
  readonly url: string;
  /** The new secret. The receivers must have `[next, current]` by now, or get it within `waitMs`. */
  readonly next: string;
  /**
   * The secret in use. If it is given, every replica must accept it too: deliveries are signed with it until the gateway
   * has the new one.
   */
  readonly current?: string | undefined;
  /** Called before each webhook is updated. Its errors are not caught. Default none. */
  readonly onSwitch?: ((webhook: Webhook) => void) | undefined;
}

/**
 * The result of a rotation.
 *
 * @experimental
 */
export type RotateResult =
  | {
      readonly result: "switched";
      /**
       * The webhooks that were given the new secret. That the gateway signs with it cannot be read from its answers, which
       * show no secret: keep the old one until `isOldSecretQuiet` says so and deliveries with the new one have come.
       */
      readonly webhooks: readonly Webhook[];
      readonly proof: SecretProof;
    }
  /** A replica does not accept the secrets, or accepts any. The gateway still has the old secret. */
  | { readonly result: "not_accepted"; readonly proof: SecretProof };

/**
 * Gives the gateway a new secret once every replica is proven to accept it. Until then nothing changes at the gateway,
 * and each step can be done twice: after an interruption start it again with the same `next`. Keep the old secret at the
 * receivers until `isOldSecretQuiet` says that it has been quiet for long enough.
 *
 * Rejects with a `ManagementError`, and with a `ConfigurationError` for an invalid option.
 *
 * @experimental
 */
export async function rotateSecret(
  client: ManagementClient,
  options: RotateOptions,
): Promise<RotateResult> {
  const names = ["url", "next", "current", "onSwitch", ...PROOF_OPTION_NAMES];
  const own = ownOptions("rotateSecret", options, names);
  const { url, next, current, onSwitch, signal } = own;
  if (next === current) {
    throw invalidOption("next must be another secret than current");
  }
  const { types } = checkProof(own);
  const webhooks = webhooksAt(url, types, await client.webhooks.list({ signal }));
  if (webhooks.length === 0) {
    throw new ManagementError("not_found", "no webhook of these types is registered at this URL");
  }
  const secrets = [next, current].filter((secret) => secret !== undefined);
  const proof = await proveSecret(url, secrets, own);
  if (proof.result !== "accepted") return { result: "not_accepted", proof };
  const switched: Webhook[] = [];
  for (const webhook of webhooks) {
    onSwitch?.(webhook);
    // Whether an earlier run has done it cannot be seen: the gateway never shows a secret. Twice does no harm.
    try {
      switched.push(await client.webhooks.update(webhook.id, { secret: next }, { signal }));
    } catch (error) {
      if (!(error instanceof ManagementError) || switched.length === 0) throw error;
      const ids = switched.map(({ id }) => id).join(", ");
      throw advised(error, `webhook ${ids} has the new secret: keep both, and start again`);
    }
  }
  return { result: "switched", webhooks: switched, proof };
}
