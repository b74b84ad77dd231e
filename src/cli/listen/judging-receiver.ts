import type { WebhookResponse } from "../../answer/answer.js";
import type { AuthenticDelivery } from "../../answer/observers.js";
import { createWebhookReceiver, type WebhookReceiver } from "../../receiver.js";
import type { WebhookRequest } from "../../delivery/request.js";

/** The receiver's answer to a request, and the delivery if it is authentic. */
export interface Judgement {
  readonly response: WebhookResponse;
  /** Undefined if the request is not authentic. Holds the request itself: its body is personal data. */
  readonly authentic: AuthenticDelivery | undefined;
}

/** Options of `createJudge`. */
export interface JudgeOptions {
  /** Empty: unsigned deliveries are accepted. */
  readonly secrets: readonly string[];
  /** The largest body that is read. */
  readonly maxBodyBytes: number;
}

/** A receiver with handlers that do nothing. It says whether a request is authentic. */
export interface Judge {
  readonly judge: (request: WebhookRequest) => Promise<Judgement>;
  readonly receiver: WebhookReceiver;
}

/** Makes a judge. */
export function createJudge({ secrets, maxBodyBytes }: JudgeOptions): Judge {
  const authentic = new WeakMap<WebhookRequest, AuthenticDelivery>();
  const common = {
    handlers: { new_alarm: () => undefined, delete_my_data_event: () => undefined },
    logger: false as const,
    maxBodyBytes,
    onAuthenticDelivery(delivery: AuthenticDelivery) {
      authentic.set(delivery.request, delivery);
    },
  };
  const receiver = createWebhookReceiver(
    secrets.length > 0
      ? { ...common, secret: [...secrets] }
      : { ...common, acceptUnsignedDeliveries: true },
  );
  return {
    async judge(request) {
      const response = await receiver.receive(request);
      return { response, authentic: authentic.get(request) };
    },
    receiver,
  };
}
