import type { WebhookReceiverOptions } from "../../src/index.js";

/** The options of a receiver that verifies signatures. */
export type SigningReceiverOptions = Exclude<
  WebhookReceiverOptions,
  { acceptUnsignedDeliveries: true }
>;

/** The options that a receiver takes with and without a secret. */
export type CommonReceiverOptions = Omit<
  WebhookReceiverOptions,
  "secret" | "acceptUnsignedDeliveries"
>;
