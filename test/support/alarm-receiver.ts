import {
  createWebhookReceiver,
  type DeliveryContext,
  type WebhookReceiver,
  type WebhookRequest,
  type WebhookResponse,
} from "../../src/index.js";
import { deferred, type Deferred } from "./deferred.js";
import { NOW_MS, TEST_SECRET } from "./deliveries.js";
import type { CommonReceiverOptions } from "./receiver-options.js";

/** A handler as the tests write it: what it is told beside the alarm. */
export type AlarmHandler = (context: DeliveryContext) => unknown;

/** A receiver of alarms with the tests' secret and clock, which says nothing unless told to. */
export function alarmReceiver(
  handler: AlarmHandler,
  options: Partial<CommonReceiverOptions> = {},
): WebhookReceiver {
  return createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    now: () => NOW_MS,
    handlers: { new_alarm: (_alarm, context) => handler(context) },
    ...options,
  });
}

/** A handler that the test ends run by run. */
export interface HeldHandler {
  readonly handler: AlarmHandler;
  readonly runs: readonly DeliveryContext[];
  /** Delivers a request and waits until the handler runs for it. */
  readonly start: (receiver: WebhookReceiver, request: WebhookRequest) => Promise<HeldRun>;
}

/** One run of a held handler, which ends by `resolve` or `reject`. */
export interface HeldRun extends Deferred<void> {
  readonly context: DeliveryContext;
  readonly answer: Promise<WebhookResponse>;
}

/** Makes a handler that runs until it is told to end. */
export function heldHandler(): HeldHandler {
  const runs: DeliveryContext[] = [];
  let called = deferred<Omit<HeldRun, "answer">>();
  return {
    runs,
    handler(context) {
      const run = { ...deferred(), context };
      runs.push(context);
      called.resolve(run);
      return run.promise;
    },
    async start(receiver, request) {
      called = deferred();
      const answer = receiver.receive(request);
      return { ...(await called.promise), answer };
    },
  };
}
