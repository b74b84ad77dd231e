import { ConfigurationError } from "../../common/errors.js";
import { ownOptions } from "../../common/option-checks.js";
import { keyOf } from "../../signature/secrets.js";
import type { SecretKey } from "../../signature/signature.js";
import { WEBHOOK_TYPES, type WebhookType } from "../../delivery/webhook-type.js";
import { createSender } from "../sending/sender.js";
import type { Sender, Target } from "../sending/target.js";

/** A webhook as it is registered at the gateway (GATEWAY.md, "Webhook"). */
export interface TwinWebhook {
  /** How reports name it. Default `webhook 1`, `webhook 2`, … */
  readonly title?: string | undefined;
  /** The webhook's `url`, or a receiver or function in this process. */
  readonly target: Target;
  /** Which events it receives. */
  readonly type: WebhookType;
  /** The shared secret. Left out: its deliveries are not signed. */
  readonly secret?: string;
  /** Default true. An inactive webhook is not called. */
  readonly isActive?: boolean | undefined;
  /** Takes any TLS certificate of its URL. Default false. */
  readonly skipSslVerification?: boolean | undefined;
}

/** A webhook that is ready to be called. */
export interface ActiveWebhook {
  readonly title: string;
  /** Undefined: every event. */
  readonly type: string | undefined;
  readonly secret: SecretKey | undefined;
  readonly sender: Sender;
}

const OPTION_NAMES = ["title", "target", "type", "secret", "isActive", "skipSslVerification"];

/**
 * Makes the active ones of a list ready.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function activateWebhooks(
  webhooks: readonly TwinWebhook[],
  timeoutMs: number,
): readonly ActiveWebhook[] {
  return webhooks.flatMap((given, at): readonly ActiveWebhook[] => {
    const webhook = ownOptions("webhooks", given, OPTION_NAMES);
    const { title = `webhook ${String(at + 1)}`, target, type, isActive = true } = webhook;
    const types: readonly string[] = WEBHOOK_TYPES;
    if (!types.includes(type)) {
      throw new ConfigurationError(
        "invalid_option",
        `type of ${title} has to be ${WEBHOOK_TYPES.join(" or ")}`,
      );
    }
    // By its presence: an environment variable that is not set must not make it an unsigned one.
    const secret = Object.hasOwn(webhook, "secret")
      ? keyOf(webhook.secret ?? "", 0, `secret of ${title}`)
      : undefined;
    const skipTlsVerification = webhook.skipSslVerification ?? false;
    const sender = createSender(target, { timeoutMs, skipTlsVerification });
    return isActive ? [{ title, type, secret, sender }] : [];
  });
}
