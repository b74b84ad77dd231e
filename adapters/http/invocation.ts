import { InFlightCount } from "../../src/common/in-flight-count.js";
import { answersByOutcome, type WebhookResponse } from "../../src/answer/answer.js";
import { isVariableSet } from "../../src/common/runtime.js";
import { DeadlineError, within } from "../../src/common/timers.js";
import {
  DEFAULT_MARGIN_MS,
  LONGEST_MS,
  remainingMs,
  type HostDeadline,
  type LambdaContext,
  type WebhookRequest,
} from "../../src/delivery/request.js";
import { internalsOf, type MountableReceiver } from "../../src/options/webhook-receiver.js";

const TIME_IS_UP =
  "handler_timeout: the function's time was up before the secret function, the store or a transaction had" +
  " answered";
const TIME_UNKNOWN =
  "the remaining time of an invocation is not known: handlerMaxMs takes its place";

/** How long writes that go on after the answer are waited for. A late 200 would reach no one. */
const MAX_WAIT_MS = 5_000;

/**
 * The invocations of a Lambda function. Lambda freezes the process when the function has answered, so an answer
 * waits for the handler and its claim until shortly before the function's time-out.
 */
export class Invocations {
  readonly #receiver: MountableReceiver;
  readonly #marginMs: number;
  #hasWarned = !isOnLambda();

  constructor(receiver: MountableReceiver, marginMs = DEFAULT_MARGIN_MS) {
    this.#receiver = receiver;
    this.#marginMs = marginMs;
  }

  /** The answer to a request. `context`: that of its invocation, if it is known. */
  async receive(request: WebhookRequest, context: unknown): Promise<WebhookResponse> {
    const leftMs = remainingMs(context as Partial<LambdaContext> | null | undefined);
    const log = internalsOf(this.#receiver)?.log;
    if (leftMs === undefined && !this.#hasWarned) {
      this.#hasWarned = true;
      log?.warn(TIME_UNKNOWN);
    }
    const hostDeadline = invocationDeadline(leftMs ?? LONGEST_MS, this.#marginMs);
    /** What goes on after the answer. */
    const open = new InFlightCount();
    // A failure has been reported where it happened. Here it would fail the invocation.
    const waitUntil = (work: Promise<unknown>): void => open.track(work.then(ignore, ignore));
    const given = { ...request, waitUntil, hostDeadline };
    const answer = await inTime(this.#receiver.receive(given), hostDeadline.returnBy);
    if (answer === undefined) log?.error(TIME_IS_UP);
    else await untilDone(open, hostDeadline);
    return answer ?? answersByOutcome().handler_timeout.response;
  }
}

/** For an adapter of a framework. Undefined elsewhere than on AWS Lambda. */
export function invocationsOf(receiver: MountableReceiver): Invocations | undefined {
  return isOnLambda() ? new Invocations(receiver) : undefined;
}

const ignore = (): void => undefined;
const isOnLambda = (): boolean => isVariableSet("AWS_LAMBDA_FUNCTION_NAME");

interface InvocationDeadline extends HostDeadline {
  /** Half of the margin is for store calls that are on their way. */
  readonly storeUntil: number;
  /** The function must return by then, whatever still runs. */
  readonly returnBy: number;
}

/** The deadline of an invocation. Its times are by `performance.now()`. */
function invocationDeadline(leftMs: number, marginMs: number): InvocationDeadline {
  const endsAt = performance.now() + leftMs;
  // A larger margin would give the handler less time than the answer.
  const margin = Math.min(marginMs, leftMs / 2);
  const [handlerUntil, storeUntil] = [endsAt - margin, endsAt - margin / 2];
  return {
    handlerUntil,
    storeUntil,
    returnBy: endsAt - margin / 4,
    handlerMs: (ms) => Math.max(0, Math.min(ms, Math.ceil(handlerUntil - performance.now()))),
    /** A process that was frozen goes on after the deadline; then the call has all of its time. */
    storeMs(ms) {
      const untilMs = storeUntil - performance.now();
      return untilMs > 0 ? Math.min(ms, untilMs) : ms;
    },
  };
}

/** The value of `work`, or undefined if it takes until `until`, by `performance.now()`. */
async function inTime<Value>(work: Promise<Value>, until: number): Promise<Value | undefined> {
  try {
    return await within(Math.max(0, until - performance.now()), "the invocation", work);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
  }
}

/** Resolves when nothing is open any more, after 5 s, or at the deadline. */
async function untilDone(open: InFlightCount, { handlerUntil, storeUntil }: InvocationDeadline) {
  const now = performance.now();
  // One turn, so that a handler that succeeds as soon as its signal aborts can be remembered.
  if (now >= handlerUntil) await new Promise((resolve) => setImmediate(resolve));
  await open.waitUntilIdle(
    Math.max(0, Math.min(storeUntil, now + MAX_WAIT_MS) - performance.now()),
  );
}
