import { setTimeout as wait } from "node:timers/promises";
import type { WireRequest } from "../sending/wire.js";
import type { Delivery } from "./deliveries.js";
import { isSentAgain, type Reply } from "./reply.js";
import type { Trial } from "./trial.js";

/** How often a delivery is sent that is answered "later". */
const MAX_SENDS = 5;
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 1_000;
/** A refusal and a failed handler are about the delivery; the others are of a rate limiter or a proxy. */
const ABOUT_THE_DELIVERY: readonly number[] = [409, 500];

/**
 * Sends what has to be acknowledged, a few times where the answer is to come later: a rate limiter is no
 * refusal. It waits as long as `Retry-After` says, and a second at most.
 */
export function sendGenuine(
  trial: Trial,
  delivery: Delivery,
  send: () => Promise<Reply> = () => trial.send(delivery),
): Promise<Reply> {
  return sendWhile(saysLater, send);
}

/** Sends what need not be acknowledged, again where a rate limiter has answered in the receiver's place. */
export function sendPastLimiter(
  trial: Trial,
  request: WireRequest,
  send: () => Promise<Reply> = () => trial.send(request),
): Promise<Reply> {
  return sendWhile(isOfLimiter, send);
}

/** 429 is about how much was sent. A limiter answers it to anything, so of the request it says nothing. */
export function isOfLimiter({ answer }: Reply): boolean {
  return answer?.status === 429;
}

async function sendWhile(
  isToBeSentAgain: (reply: Reply) => boolean,
  send: () => Promise<Reply>,
): Promise<Reply> {
  for (let sends = 1; ; sends++) {
    const reply = await send();
    if (sends === MAX_SENDS || !isToBeSentAgain(reply)) return reply;
    const seconds = Number(reply.answer?.headers["retry-after"] ?? Number.NaN);
    const pauseMs = Number.isNaN(seconds) ? FIRST_PAUSE_MS * 2 ** sends : 1_000 * seconds;
    await wait(Math.min(Math.max(pauseMs, 0), MAX_PAUSE_MS));
  }
}

function saysLater({ verdict, answer }: Reply): boolean {
  if (verdict !== "retryable" || answer === undefined) return false;
  return "retry-after" in answer.headers || !ABOUT_THE_DELIVERY.includes(answer.status);
}

/** Sends again while the answer is a retryable one, as the gateway would, but sooner. */
export async function sendUntilTaken(trial: Trial, send: () => Promise<Reply>): Promise<Reply> {
  const until = performance.now() + trial.settings.timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const reply = await send();
    if (!isSentAgain(reply) || performance.now() + pauseMs > until) return reply;
    await wait(pauseMs);
  }
}
