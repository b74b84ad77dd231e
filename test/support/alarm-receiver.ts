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

/** A handler of the tests. It gets the context and not the alarm. */
export type AlarmHandler = (context: DeliveryContext) => unknown;

/** A receiver of alarms with the tests' secret and clock. It does not log by default. */
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

/** A handler whose runs the test ends one by one. */
export interface HeldHandler {
  readonly handler: AlarmHandler;
  readonly runs: readonly DeliveryContext[];
  /** Delivers a request and waits until the handler runs for it. */
  readonly start: (receiver: WebhookReceiver, request: WebhookRequest) => Promise<HeldRun>;
}

/** One run of a held handler. `resolve` or `reject` ends it. */
export interface HeldRun extends Deferred<void> {
  readonly context: DeliveryContext;
  readonly answer: Promise<WebhookResponse>;
}

/** Makes a handler that runs until the test ends it. */
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
