/** The stable codes of `ConfigurationError`, one per cause. A minor version may add members. */
export type ConfigurationErrorCode =
  | "invalid_options"
  | "unknown_option"
  | "invalid_receiver"
  | "missing_secret"
  | "unusable_secret"
  | "conflicting_secret"
  | "missing_handlers"
  | "unknown_handler"
  | "invalid_handler"
  | "invalid_option"
  | "invalid_store";

/**
 * Something that was configured cannot work. Thrown where a receiver, a store or an adapter is made,
 * and the rejection of `signDelivery` and `verifySignature` for a secret that cannot be one; never
 * while a delivery is received. The message says what to change and holds no secret.
 */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";

  constructor(
    /** Which rule was broken. Stable, so that code can branch on it. */
    readonly code: ConfigurationErrorCode,
    message: string,
  ) {
    super(message);
  }
}
