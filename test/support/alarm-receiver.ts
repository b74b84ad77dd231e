import {
  createWebhookReceiver,
  type DeliveryContext,
  type WebhookReceiver,
  type WebhookRequest,
  type WebhookResponse,
} from "../../src/index.js";
import { createCollector } from "./collector.js";
import { deferred, type Deferred } from "./deferred.js";
import { NOW_MS, TEST_SECRET, delivery } from "./deliveries.js";
import type { SigningReceiverOptions } from "./receiver-options.js";

/** A handler of the tests. It gets the context and not the alarm. */
export type AlarmHandler = (context: DeliveryContext) => unknown;

type SignedRequest = Awaited<ReturnType<typeof delivery>>;
type AlarmOptions = Partial<SigningReceiverOptions>;

/** A receiver of alarms with the tests' secret and clock. It does not log by default. */
export function alarmReceiver(handler: AlarmHandler, options: AlarmOptions = {}): WebhookReceiver {
  return createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    now: () => NOW_MS,
    handlers: { new_alarm: (_alarm, context) => handler(context) },
    ...options,
  });
}

/** What `answerOf` writes. */
export const HANDLED = "200 handled";
export const DUPLICATE = "200 duplicate";
export const IN_FLIGHT = "409 in_flight";
export const UNAVAILABLE = "503 store_unavailable";
export const FAILED = "500 handler_failed";
export const OVERLOADED = "503 overloaded";

/** An answer as the gateway sees it, and why: `200 handled`. */
export async function answerOf(
  response: WebhookResponse | Promise<WebhookResponse>,
): Promise<string> {
  const { status, outcome } = await response;
  return `${String(status)} ${outcome}`;
}

/** Delivers an alarm, by default the same each time. Resolves to its answer, as `answerOf` writes it. */
export async function send(
  receiver: Pick<WebhookReceiver, "receive">,
  sent?: WebhookRequest | string,
): Promise<string> {
  const request =
    typeof sent === "object" ? sent : await delivery(sent === undefined ? {} : { id: sent });
  return answerOf(receiver.receive(request));
}

/** The same, with the log lines and the reports of the receiver, and the runs of its handler. */
export function observedAlarmReceiver(
  handler: AlarmHandler = () => undefined,
  options: AlarmOptions = {},
) {
  const { options: observers, lines, reports } = createCollector();
  const runs: DeliveryContext[] = [];
  const counting: AlarmHandler = (context) => {
    runs.push(context);
    return handler(context);
  };
  const receiver = alarmReceiver(counting, { ...observers, ...options });
  return {
    receiver,
    lines,
    reports,
    runs,
    send: (sent?: WebhookRequest | string) => send(receiver, sent),
  };
}

/** Makes a handler that runs until the test ends it. */
export function heldHandler() {
  const runs: DeliveryContext[] = [];
  let called = deferred<Deferred<void> & { readonly context: DeliveryContext }>();
  return {
    runs,
    handler: (context: DeliveryContext) => {
      const run = { ...deferred(), context };
      runs.push(context);
      called.resolve(run);
      return run.promise;
    },
    /** Delivers a request and waits until the handler runs for it. */
    start: async (receiver: WebhookReceiver, request: WebhookRequest) => {
      called = deferred();
      const answer = receiver.receive(request);
      const run = await called.promise;
      return {
        ...run,
        answer,
        succeed() {
          run.resolve();
          return answer;
        },
        fail(error: unknown) {
          run.reject(error);
          return answer;
        },
      };
    },
  };
}

/** An observed receiver with a held handler. By default `start` delivers the same alarm each time. */
export function heldReceiver(options: AlarmOptions = {}) {
  const { handler, runs, start } = heldHandler();
  const observed = observedAlarmReceiver(handler, options);
  return {
    ...observed,
    handler,
    runs,
    /** Another receiver may have the handler too. */
    start: async (request?: WebhookRequest, receiver = observed.receiver) =>
      start(receiver, request ?? (await delivery())),
  };
}

/** A held receiver whose handler runs for a first request. */
export async function heldRun(options: AlarmOptions = {}, request?: SignedRequest) {
  const held = heldReceiver(options);
  const repeated = request ?? (await delivery());
  return { ...held, repeated, run: await held.start(repeated) };
}
