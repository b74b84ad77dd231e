/**
 * The class of every error of this package that you can meet. `code` names the cause and is stable: docs/errors.md
 * says of each code what it means and what to do. A minor version may add codes, so code that branches on them needs
 * a default. No message holds a secret or a part of a delivery.
 *
 * `instanceof` also recognizes the errors of a second copy of the package in the same process, such as a bundler
 * makes. The same is true of the classes of this package that extend it.
 *
 * @example
 * if (error instanceof GatewayWebhookError && error.code === "redis_unavailable") page("Redis is down");
 */
export class GatewayWebhookError<Code extends string = string> extends Error {
  static override [Symbol.hasInstance]<T>(
    this: abstract new (...args: never[]) => T,
    value: unknown,
  ): value is T {
    const prototype = this.prototype as Error;
    const brand = brandOf(prototype.name);
    // A class of a user that extends one of ours has no brand, so only its own instances count.
    return Object.hasOwn(prototype, brand)
      ? typeof value === "object" && value !== null && brand in value
      : Function.prototype[Symbol.hasInstance].call(this, value);
  }

  static {
    brandErrors(this, "GatewayWebhookError");
  }

  constructor(
    /** The cause. Stable, so that code can branch on it. */
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Names the errors of a class of this package, and gives them the brand by which `instanceof` knows them. */
export function brandErrors({ prototype }: { readonly prototype: Error }, name: string): void {
  // On the prototype, so that a printed error does not show them.
  Object.defineProperty(prototype, "name", { value: name, writable: true, configurable: true });
  Object.defineProperty(prototype, brandOf(name), { value: true });
}

/** All copies of the package share these symbols. */
function brandOf(name: string): symbol {
  return Symbol.for(`identity-gateway-webhooks.${name}`);
}

/** Whether `error` is an error of this package with this code. */
export function hasCode(error: unknown, code: string): error is GatewayWebhookError {
  return error instanceof GatewayWebhookError && error.code === code;
}

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
 * secret, `migrate`, `purge` and the methods that handle dead deliveries. An adapter also throws it if it is
 * called with something that is no request. A receiver never throws it while it receives a delivery. The message says
 * what to change and holds no secret.
 */
export class ConfigurationError extends GatewayWebhookError<ConfigurationErrorCode> {
  static {
    brandErrors(this, "ConfigurationError");
  }
}

/** The error for an option or an argument with a wrong value. */
export function invalidOption(message: string): ConfigurationError {
  return new ConfigurationError("invalid_option", message);
}

/** The error for an answer of a store, a client or a database that it should never give. */
export function unexpectedResult(message: string, options?: ErrorOptions): GatewayWebhookError {
  return new GatewayWebhookError("unexpected_result", message, options);
}
