import { SendError, sendErrorOf, type Sender } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import type { TwinClock } from "./twin-clock.js";

/** What one request came to. */
export interface Exchange {
  readonly answer: Pick<WireAnswer, "status" | "body"> | SendError;
  readonly ms: number;
}

/** Sends requests in the time of a clock. Never rejects. */
export type SendOnce = (sender: Sender, request: WireRequest) => Promise<Exchange>;

/**
 * Makes the sending of requests. The sender has a time-out in real time; over a virtual clock the same
 * holds in its time too, as a handler that sleeps there takes no real time.
 */
export function createSendOnce(clock: TwinClock, timeoutMs: number): SendOnce {
  const { hold } = clock;
  const elapsed = hold === undefined ? () => performance.now() : clock.now;

  const send = (sender: Sender, request: WireRequest): Promise<WireAnswer> => {
    if (hold === undefined) return sender.send(request);
    return new Promise((resolve, reject) => {
      const cancel = clock.startTimer(timeoutMs, () => {
        reject(new SendError("timeout", `no answer within ${String(timeoutMs)} ms`));
      });
      hold(() => sender.send(request))
        .then(resolve, reject)
        .finally(cancel);
    });
  };

  return async (sender, request) => {
    const startedAt = elapsed();
    let answer: Exchange["answer"];
    try {
      answer = await send(sender, request);
    } catch (error) {
      answer = sendErrorOf(error);
    }
    return { answer, ms: elapsed() - startedAt };
  };
}
