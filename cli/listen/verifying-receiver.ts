import type { WebhookResponse } from "../../src/answer/answer.js";
import type { AuthenticDelivery } from "../../src/answer/observers.js";
import { createWebhookReceiver, type WebhookReceiver } from "../../src/receiver.js";
import type { WebhookRequest } from "../../src/delivery/request.js";

/** The receiver's answer to a request, and the delivery if it is authentic. */
export interface Verification {
  readonly response: WebhookResponse;
  /** Undefined if the request is not authentic. Holds the request itself: its body is personal data. */
  readonly authentic: AuthenticDelivery | undefined;
}

/** Options of `VerifyingReceiver`. */
export interface VerifyingOptions {
  /** Empty: unsigned deliveries are accepted. */
  readonly secrets: readonly string[];
  /** The largest body that is read. */
  readonly maxBodyBytes: number;
}

/** A receiver with handlers that do nothing: it only verifies requests. */
export class VerifyingReceiver {
  readonly receiver: WebhookReceiver;
  readonly #authentic = new WeakMap<WebhookRequest, AuthenticDelivery>();

  constructor({ secrets, maxBodyBytes }: VerifyingOptions) {
    const common = {
      handlers: { new_alarm: () => undefined, delete_my_data_event: () => undefined },
      logger: false as const,
      maxBodyBytes,
      onAuthenticDelivery: (delivery: AuthenticDelivery) => {
        this.#authentic.set(delivery.request, delivery);
      },
    };
    this.receiver = createWebhookReceiver(
      secrets.length > 0
        ? { ...common, secret: [...secrets] }
        : { ...common, acceptUnsignedDeliveries: true },
    );
  }

  async verify(request: WebhookRequest): Promise<Verification> {
    const response = await this.receiver.receive(request);
    return { response, authentic: this.#authentic.get(request) };
  }
}
