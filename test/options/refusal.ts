import { expect } from "vitest";
import {
  ConfigurationError,
  createWebhookReceiver,
  type WebhookReceiverOptions,
} from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { thrownBy } from "../support/thrown.js";

/** Valid options with `overrides` of any type. */
export function optionsWith(overrides: Record<string, unknown> = {}): WebhookReceiverOptions {
  return {
    secret: TEST_SECRET,
    handlers: { new_alarm: () => undefined },
    logger: false,
    ...overrides,
  };
}

/** The error with which a receiver refuses these options. */
export function refusalOf(options: unknown): ConfigurationError {
  return configurationErrorOf(() => createWebhookReceiver(options as WebhookReceiverOptions));
}

/** Expects that a receiver refuses these changes of valid options, with this code and each text in its message. */
export function expectRefused(
  changes: Record<string, unknown>,
  code: string,
  ...texts: readonly (string | RegExp)[]
): void {
  const error = refusalOf(optionsWith(changes));
  expect(error.code).toBe(code);
  for (const text of texts) expect(error.message).toMatch(text);
  expect(error.message).not.toContain(TEST_SECRET);
}

/** The `ConfigurationError` that `make` throws. Any other result fails the test. */
export function configurationErrorOf(make: () => unknown): ConfigurationError {
  const error = thrownBy(make);
  if (error instanceof ConfigurationError) return error;
  throw error;
}
