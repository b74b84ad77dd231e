/**
 * The stable codes of `ConfigurationError`, one per cause. A minor version may add codes, so code that
 * branches on them needs a default.
 */
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
  | "duplicate_handler"
  | "invalid_option"
  | "invalid_store"
  | "unsupported_platform"
  | "unsupported_version";

/**
 * An option or an argument that cannot work. Thrown when a receiver, a store, an adapter or an inbox is
 * made. Asynchronous functions reject with it: `signDelivery` and `verifySignature` for an unusable
 * secret, `migrate`, `purge` and the methods that handle dead deliveries. A receiver never throws it while it
 * receives a delivery. The message says what to change and holds no secret.
 */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";

  constructor(
    /** The rule that was broken. Stable, so that code can branch on it. */
    readonly code: ConfigurationErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The stable codes of `InvalidValueError`, one per kind of value. A minor version may add codes, so code
 * that branches on them needs a default.
 */
export type InvalidValueErrorCode =
  "invalid_gateway_time" | "invalid_delivery_id" | "invalid_timestamp";

/** A value given to `parseGatewayTime` or `signDelivery` does not match the gateway's grammar. */
export class InvalidValueError extends RangeError {
  override readonly name = "InvalidValueError";

  constructor(
    /** The kind of value. Stable, so that code can branch on it. */
    readonly code: InvalidValueErrorCode,
    message: string,
  ) {
    super(message);
  }
}
