import type { Random } from "../random.js";
import { SendError } from "../sending/target.js";
import { outcomeOf, type WireRequest } from "../sending/wire.js";
import { buildRequest, type Outgoing } from "./delivery-request.js";
import type { Exchange, SendOnce } from "./exchange.js";
import type { Fault, FaultPlan } from "./faults.js";
import type { TwinClock } from "./twin-clock.js";
import type { TwinAttempt } from "./twin-delivery.js";
import { verdictOf } from "./verdict.js";

/** A delivery on its way. */
export interface Journey extends Outgoing {
  /** The delivery's own, so that its faults do not depend on what runs beside it. */
  readonly random: Random;
  /** How many requests each attempt makes. */
  readonly copies: number;
  /** Whether they are sent at once, or one after another. */
  readonly concurrent: boolean;
}

/** What attempts are made with. */
export interface AttemptParts {
  readonly clock: TwinClock;
  readonly sendOnce: SendOnce;
  readonly planFaults: (random: Random) => FaultPlan;
  readonly isStopped: () => boolean;
  /** Hears of each request when its answer is there. */
  readonly onAttempt: (attempt: TwinAttempt) => void;
}

/** An attempt, and the request that it was made with. */
export interface Attempted {
  /** The attempt itself first, then its copies. */
  readonly records: readonly [TwinAttempt, ...TwinAttempt[]];
  readonly request: WireRequest;
}

/**
 * Makes one attempt with its copies. Copies are the same request once more: the gateway delivers at
 * least once. The answer of the first decides, since the gateway cannot know of the others.
 * Undefined where the run was stopped before anything was sent.
 */
export async function makeAttempt(
  journey: Journey,
  { number, waitedMs, built }: { number: number; waitedMs: number; built?: WireRequest },
  { clock, sendOnce, planFaults, isStopped, onAttempt }: AttemptParts,
): Promise<Attempted | undefined> {
  const { id, webhook, random, copies, concurrent } = journey;
  const { fault, isDuplicated, isDoubled } = planFaults(random);
  const at = clock.now();
  const build = (): Promise<WireRequest> => buildRequest(journey, at);
  const request = built ?? (await (clock.hold === undefined ? build() : clock.hold(build)));
  // Sent now, it would open a connection that nobody closes.
  if (isStopped()) return undefined;

  const send = async (copy: number, copyFault?: Fault): Promise<TwinAttempt> => {
    const sentAt = new Date(copy === 0 ? at : clock.now());
    const exchange =
      copyFault === "request_lost" ? LOST_REQUEST : await sendOnce(webhook.sender, request);
    const record: TwinAttempt = {
      ...{ id, webhook: webhook.title, number, copy, at: sentAt, waitedMs },
      ...(copyFault === undefined ? readAnswer(exchange) : { ...MADE_UP, fault: copyFault }),
      ms: exchange.ms,
    };
    onAttempt(record);
    return record;
  };

  const atOnce = (concurrent ? copies : 1) + (isDoubled ? 1 : 0);
  const inTurn = (concurrent ? 0 : copies - 1) + (isDuplicated ? 1 : 0);
  const first = send(0, fault);
  // A request that never leaves has no copies.
  if (fault === "request_lost") return { records: [await first], request };

  const doubles = Array.from({ length: atOnce - 1 }, (_, double) => send(double + 1));
  const records: [TwinAttempt, ...TwinAttempt[]] = [await first, ...(await Promise.all(doubles))];
  for (let copy = atOnce; copy < atOnce + inTurn && !isStopped(); copy++) {
    records.push(await send(copy));
  }
  return { records, request };
}

type Answered = Pick<TwinAttempt, "status" | "outcome" | "error" | "verdict">;

const MADE_UP: Answered = {
  error: "a network error that the twin made up",
  verdict: "network_error",
};
const LOST_REQUEST: Exchange = { answer: new SendError("network", "made up"), ms: 0 };

function readAnswer({ answer }: Exchange): Answered {
  if (answer instanceof SendError) {
    const verdict = answer.code === "timeout" ? "timeout" : "network_error";
    return { error: answer.message, verdict };
  }
  const { status, body } = answer;
  const outcome = outcomeOf(body);
  return { status, ...(outcome === undefined ? {} : { outcome }), verdict: verdictOf(status) };
}
