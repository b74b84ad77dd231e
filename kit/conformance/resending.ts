import { setTimeout as wait } from "node:timers/promises";
import type { WireRequest } from "../sending/wire.js";
import type { CaseContext } from "./case-context.js";
import { isRetried, type ReceiverAnswer } from "./receiver-answer.js";
import { signedWith, TIMESTAMP, withHeader } from "./request-changes.js";
import type { Delivery } from "./test-deliveries.js";

/** How often a request is sent that a rate limiter or a proxy answers. */
const MAX_SENDS = 5;
/** How often a request gets 429, and a genuine delivery before it is acknowledged, until that is no chance. */
const SENDS_TO_CHOICE = 3;
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 1_000;
/** Retryable statuses of the receiver itself. The others come from a rate limiter or a proxy. */
const RECEIVER_STATUSES: readonly number[] = [409, 500];

/**
 * Sends a delivery that must be acknowledged. Sends it again a few times when a rate limiter answers "try
 * later", which is no refusal. Waits as long as `Retry-After` says, at most one second.
 */
export function sendGenuine(
  context: CaseContext,
  delivery: Delivery,
  send: () => Promise<ReceiverAnswer> = () => context.send(delivery),
): Promise<ReceiverAnswer> {
  return sendWhile(saysLater, send);
}

/** Sends a request of any kind. Sends it again when a rate limiter answers instead of the receiver. */
export async function sendPastLimiter(
  context: CaseContext,
  request: WireRequest,
  send: () => Promise<ReceiverAnswer> = () => context.send(request),
): Promise<ReceiverAnswer> {
  const answer = await send();
  if (!isOfLimiter(answer) || context.refusesWith429) return answer;
  return (await sendBetweenGenuine(context, send)) ?? sendWhile(isOfLimiter, send);
}

/**
 * Sends a request that got 429, each time after a genuine delivery. A limiter answers 429 to anything, but a receiver
 * that acknowledges each of them refuses the request. Undefined when a genuine delivery gets 429 too.
 */
async function sendBetweenGenuine(
  context: CaseContext,
  send: () => Promise<ReceiverAnswer>,
): Promise<ReceiverAnswer | undefined> {
  for (let sends = 1; ; sends++) {
    const { result } = await context.send(await context.deliver());
    if (result !== "acknowledged") return undefined;
    const answer = await send();
    if (!isOfLimiter(answer)) return answer;
    context.refusesWith429 ||= sends === SENDS_TO_CHOICE;
    if (context.refusesWith429) return answer;
  }
}

/** Whether the status is 429. From a rate limiter it says nothing about the request. */
export function isOfLimiter({ wire }: ReceiverAnswer): boolean {
  return wire?.status === 429;
}

async function sendWhile(
  mustResend: (answer: ReceiverAnswer) => boolean,
  send: () => Promise<ReceiverAnswer>,
): Promise<ReceiverAnswer> {
  for (let sends = 1; ; sends++) {
    const answer = await send();
    if (sends === MAX_SENDS || !mustResend(answer)) return answer;
    const seconds = Number(answer.wire?.headers["retry-after"] ?? Number.NaN);
    const pauseMs = Number.isNaN(seconds) ? FIRST_PAUSE_MS * 2 ** sends : 1_000 * seconds;
    await wait(Math.min(Math.max(pauseMs, 0), MAX_PAUSE_MS));
  }
}

/** Whether the answer asks to come back later, as a rate limiter or a busy receiver does. */
export function saysLater({ result, wire }: ReceiverAnswer): boolean {
  if (result !== "retryable" || wire === undefined) return false;
  return "retry-after" in wire.headers || !RECEIVER_STATUSES.includes(wire.status);
}

/** Sends a delivery as the gateway sends it again: with a new timestamp and signature. */
export function sendAgain(context: CaseContext, delivery: Delivery): Promise<ReceiverAnswer> {
  const { secret, now } = context.settings;
  const timed = withHeader(delivery, TIMESTAMP, String(Math.floor(now() / 1_000)));
  return context.send(signedWith(timed, secret));
}

/**
 * Sends until the answer is not retryable, as the gateway does, but with short gaps. `leaseMs`: how much longer
 * when the answers name the time in `Retry-After`, as long as the lease of a delivery may still hold.
 */
export async function sendUntilAcknowledged(
  context: CaseContext,
  send: () => Promise<ReceiverAnswer>,
  leaseMs = 0,
): Promise<ReceiverAnswer> {
  const until = performance.now() + context.settings.timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const answer = await send();
    const namesTime = answer.wire?.headers["retry-after"] !== undefined;
    const latest = namesTime ? until + leaseMs : until;
    if (!isRetried(answer) || performance.now() + pauseMs > latest) return answer;
    await wait(pauseMs);
  }
}
