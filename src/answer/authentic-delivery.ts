import type { WebhookResponse } from "./answer.js";
import { endOf } from "../common/guarded.js";
import type { Outcome } from "./outcome.js";
import type { Trace } from "./report.js";
import { type WebhookRequest, holdOpen } from "../delivery/request.js";

/**
 * A request whose signature is good, and what became of it. With `acceptUnsignedDeliveries` any request
 * whose headers are well-formed, which anyone can send. Its body is personal data.
 */
export interface AuthenticDelivery {
  /** The request as it was given to `receive`; its body is what the signature was made over. */
  readonly request: WebhookRequest;
  /** X-Webhook-Id. */
  readonly id: string;
  /** X-Webhook-Type, which is not signed: with outcome `type_mismatch` it is not the body's. */
  readonly type: string;
  /** The receiver's clock when the answer was made. */
  readonly receivedAt: Date;
  /** What became of it. */
  readonly outcome: Outcome;
  /** HTTP status that was answered. */
  readonly status: number;
}

/** Shows a request to the partner's observer, where there is one and the signature is good. */
export type Observe = (request: WebhookRequest, trace: Trace, response: WebhookResponse) => void;

/** Makes the call of `onAuthenticDelivery`; undefined where nobody observes. */
export function createObserve(
  onAuthenticDelivery: ((delivery: AuthenticDelivery) => unknown) | undefined,
  now: () => number,
): Observe | undefined {
  if (onAuthenticDelivery === undefined) return undefined;
  return (request, trace, { outcome, status }) => {
    const { id, type } = trace;
    // Known only once the signature is good: what is not authentic may not get past this line.
    if (id === undefined || type === undefined) return;
    const observed = endOf(() =>
      onAuthenticDelivery({ request, id, type, receivedAt: new Date(now()), outcome, status }),
    );
    holdOpen(trace, observed);
  };
}
