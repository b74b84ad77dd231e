import type { WebhookReceiverOptions } from "../../src/index.js";

/** The options of a receiver without those that choose between a secret and none. */
export type CommonReceiverOptions = Omit<
  WebhookReceiverOptions,
  "secret" | "acceptUnsignedDeliveries"
>;

/** The options of a receiver that verifies signatures. */
export type SigningReceiverOptions = Exclude<
  WebhookReceiverOptions,
  { acceptUnsignedDeliveries: true }
>;
