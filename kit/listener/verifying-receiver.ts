import { AsyncLocalStorage } from "node:async_hooks";
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

/** A receiver that verifies requests and remembers their ids. Its handlers do nothing, or fail on request. */
export class VerifyingReceiver {
  readonly receiver: WebhookReceiver;
  readonly #authentic = new WeakMap<WebhookRequest, AuthenticDelivery>();
  readonly #fails = new AsyncLocalStorage<boolean>();

  constructor({ secrets, maxBodyBytes }: VerifyingOptions) {
    const handle = (): void => {
      if (this.#fails.getStore() === true) throw new Error("fails on request");
    };
    const common = {
      handlers: { new_alarm: handle, delete_my_data_event: handle },
      logger: false as const,
      maxBodyBytes,
      onAuthenticDelivery: (delivery: AuthenticDelivery) =>
        this.#authentic.set(delivery.request, delivery),
    };
    this.receiver = createWebhookReceiver(
      secrets.length > 0
        ? { ...common, secret: [...secrets] }
        : { ...common, acceptUnsignedDeliveries: true },
    );
  }

  /** `fails`: the handler fails, so that the id is not remembered as handled. */
  async verify(request: WebhookRequest, fails = false): Promise<Verification> {
    const response = await this.#fails.run(fails, () => this.receiver.receive(request));
    return { response, authentic: this.#authentic.get(request) };
  }
}
