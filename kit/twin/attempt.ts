import type { Random } from "../random.js";
import { answeredFields } from "../sending/answered-by.js";
import { SendError, sendErrorOf, type Sender } from "../sending/target.js";
import { linesOf, type WireAnswer, type WireRequest } from "../sending/wire.js";
import { resultOfStatus } from "../../src/answer/outcome.js";
import { namedHeaders } from "../../src/delivery/header-values.js";
import { sign } from "../../src/signature/secrets.js";
import { drawFaults, type Fault, type FaultRates } from "./faults.js";
import type { TwinClock } from "./twin-clock.js";
import type { TwinAttempt } from "./twin-delivery.js";
import type { EventBody } from "./twin-event.js";
import type { ActiveWebhook } from "./twin-webhook.js";

/** A delivery with the settings of its attempts. */
export interface PlannedDelivery extends EventBody {
  /** X-Webhook-Id. */
  readonly id: string;
  readonly webhook: ActiveWebhook;
  /** The delivery's own random source: its faults do not depend on deliveries that run beside it. */
  readonly random: Random;
  /** How many times each attempt sends the request. */
  readonly times: number;
  /** Whether these requests are sent at the same time or one after another. */
  readonly concurrent: boolean;
  /** Whether its requests are lost for now, whatever the rates of faults say. */
  readonly isHeldBack: () => boolean;
}

/** Builds the request of a delivery at `now`. */
export async function buildRequest(
  { id, type, body, webhook }: PlannedDelivery,
  now: number,
): Promise<WireRequest> {
  const timestamp = String(Math.floor(now / 1000));
  const { secret } = webhook;
  const headers = {
    "Content-Type": "application/json",
    ...namedHeaders({ type, id, timestamp }),
    ...(secret && namedHeaders({ signature: await sign(secret, { id, timestamp }, body) })),
  };
  return { method: "POST", headers: linesOf(headers), body };
}

/** What an attempt needs from the twin. */
export interface AttemptTools {
  readonly clock: TwinClock;
  readonly sendOnce: SendOnce;
  readonly faults: FaultRates;
  readonly isStopped: () => boolean;
  /** The delivery's request as it is sent at this time. */
  readonly requestAt: (now: number) => Promise<WireRequest>;
  /** Called with each request when its answer has arrived. */
  readonly onAttempt: (attempt: TwinAttempt) => void;
}

/**
 * Makes one attempt: a request, and its repeats if it is sent several times. The gateway delivers at least
 * once. Only the answer to the first request counts, since the gateway itself repeats none in an attempt.
 *
 * @param number From 1.
 * @param waitedMs The gap before this attempt, in milliseconds.
 * @returns The first request, then its repeats. Empty when the twin was stopped before anything was sent.
 */
export async function makeAttempt(
  delivery: PlannedDelivery,
  number: number,
  waitedMs: number,
  { clock, sendOnce, faults, isStopped, onAttempt, requestAt }: AttemptTools,
): Promise<readonly TwinAttempt[]> {
  const { id, webhook, random, times, concurrent } = delivery;
  const { fault: drawn, isDuplicated, isDoubled } = drawFaults(faults, random);
  const fault = delivery.isHeldBack() ? "request_lost" : drawn;
  const at = clock.now();
  const build = (): Promise<WireRequest> => requestAt(at);
  const request = await (clock.hold === undefined ? build() : clock.hold(build));
  // After a stop the request would open a connection that nothing closes.
  if (isStopped()) return [];

  const send = async (repeat: number, injected?: Fault): Promise<TwinAttempt> => {
    const sentAt = new Date(repeat === 0 ? at : clock.now());
    const exchange =
      injected === "request_lost" ? LOST_REQUEST : await sendOnce(webhook.sender, request);
    const record: TwinAttempt = {
      id,
      webhook: webhook.title,
      number,
      repeat,
      at: sentAt,
      waitedMs,
      ...(injected === undefined ? readAnswer(exchange) : { ...INJECTED, fault: injected }),
      ms: exchange.ms,
    };
    onAttempt(record);
    return record;
  };

  const sentTogether = (concurrent ? times : 1) + (isDoubled ? 1 : 0);
  const sentAfterwards = (concurrent ? 0 : times - 1) + (isDuplicated ? 1 : 0);
  const first = send(0, fault);
  // A request that never leaves has no repeats.
  if (fault === "request_lost") return [await first];

  const doubles = Array.from({ length: sentTogether - 1 }, (_, double) => send(double + 1));
  const records = [await first, ...(await Promise.all(doubles))];
  for (let sent = sentTogether; sent < sentTogether + sentAfterwards && !isStopped(); sent++) {
    records.push(await send(sent));
  }
  return records;
}

type Answered = Pick<TwinAttempt, "status" | "outcome" | "answeredBy" | "error" | "result">;

const INJECTED: Answered = {
  error: "a network error that the twin injected",
  result: "network_error",
};
const LOST_REQUEST: Exchange = { answer: new SendError("network", "injected"), ms: 0 };

function readAnswer({ answer }: Exchange): Answered {
  if (answer instanceof SendError) {
    const result = answer.code === "timeout" ? "timeout" : "network_error";
    return { error: answer.message, result };
  }
  return { ...answeredFields(answer), result: resultOfStatus(answer.status) };
}

/** The result of one request: an answer or an error, and how long it took on the clock. */
export interface Exchange {
  readonly answer: Pick<WireAnswer, "status" | "headers" | "body"> | SendError;
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
    const cancel = startTimer(timeoutMs, () =>
      reject(new SendError("timeout", `no answer within ${String(timeoutMs)} ms`)),
    );
    hold(() => sender.send(request))
      .then(resolve, reject)
      .finally(cancel);
  });
}
