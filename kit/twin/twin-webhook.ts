import { checkOption } from "../option-checks.js";
import { ownOptions } from "../../src/common/option-checks.js";
import { keyOf, type SecretKey } from "../../src/signature/secrets.js";
import { WEBHOOK_TYPES } from "../../src/common/gateway-facts.js";
import type { WebhookType } from "../../src/delivery/headers.js";
import { createSender } from "../sending/sender.js";
import type { Sender, WebhookTarget } from "../sending/target.js";

/**
 * A webhook as it is registered at the gateway.
 *
 * @experimental
 */
export interface TwinWebhook {
  /** The webhook's name in reports. Default `webhook 1`, `webhook 2`, … */
  readonly title?: string | undefined;
  /** The webhook's `url`, or a receiver or function in this process. */
  readonly target: WebhookTarget;
  /** The type of events that it receives. */
  readonly type: WebhookType;
  /** The shared secret. Without it the deliveries are not signed. */
  readonly secret?: string;
  /** Whether the webhook is called. Default true. */
  readonly isActive?: boolean | undefined;
  /** Accepts any TLS certificate. Default false. */
  readonly skipSslVerification?: boolean | undefined;
}

/** A checked webhook with its sender. */
export interface ActiveWebhook {
  readonly title: string;
  /** Undefined for a webhook that receives every event. */
  readonly type: string | undefined;
  readonly secret: SecretKey | undefined;
  readonly sender: Sender;
}

const OPTION_NAMES = ["title", "target", "type", "secret", "isActive", "skipSslVerification"];

/**
 * Checks a list of webhooks and returns the active ones, each with its sender.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function activateWebhooks(
  webhooks: readonly TwinWebhook[],
  timeoutMs: number,
): readonly ActiveWebhook[] {
  return webhooks.flatMap((given, at): readonly ActiveWebhook[] => {
    const webhook = ownOptions("webhooks", given, OPTION_NAMES);
    const { title = `webhook ${String(at + 1)}`, target, type, isActive = true } = webhook;
    const rule = `type of ${title} must be ${WEBHOOK_TYPES.join(" or ")}`;
    checkOption(WEBHOOK_TYPES.includes(type), rule);
    // `secret: undefined` is refused: an unset environment variable must not turn signatures off.
    const secret = Object.hasOwn(webhook, "secret")
      ? keyOf(webhook.secret ?? "", 0, `secret of ${title}`)
      : undefined;
    const skipTlsVerification = webhook.skipSslVerification ?? false;
    const sender = createSender(target, { timeoutMs, skipTlsVerification });
    return isActive ? [{ title, type, secret, sender }] : [];
  });
}
