import { SendError, sendErrorOf, type Sender } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import type { TwinClock } from "./twin-clock.js";

/** The result of one request: an answer or an error, and how long it took on the clock. */
export interface Exchange {
  readonly answer: Pick<WireAnswer, "status" | "body"> | SendError;
  readonly ms: number;
}

/** Sends one request. Never rejects. */
export type SendOnce = (sender: Sender, request: WireRequest) => Promise<Exchange>;

/** Sends one request and measures it on `clock`. Never rejects. */
export async function sendOnce(
  sender: Sender,
  request: WireRequest,
  clock: TwinClock,
  timeoutMs: number,
): Promise<Exchange> {
  const elapsed = clock.hold === undefined ? () => performance.now() : clock.now;
  const startedAt = elapsed();
  let answer: Exchange["answer"];
  try {
    answer = await sendWithTimeout(sender, request, clock, timeoutMs);
  } catch (error) {
    answer = sendErrorOf(error);
  }
  return { answer, ms: elapsed() - startedAt };
}

/**
 * The sender itself limits a request in real time. On a virtual clock the same limit also applies in
 * virtual time, since a handler that sleeps there takes no real time.
 */
function sendWithTimeout(
  sender: Sender,
  request: WireRequest,
  { hold, startTimer }: TwinClock,
  timeoutMs: number,
): Promise<WireAnswer> {
  if (hold === undefined) return sender.send(request);
  return new Promise((resolve, reject) => {
    const cancel = startTimer(timeoutMs, () => {
      reject(new SendError("timeout", `no answer within ${String(timeoutMs)} ms`));
    });
    hold(() => sender.send(request))
      .then(resolve, reject)
      .finally(cancel);
  });
}
