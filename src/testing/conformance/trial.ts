import { setTimeout as wait } from "node:timers/promises";
import { errorText } from "../error-text.js";
import { createSender } from "../sending/sender.js";
import { sendErrorOf } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import {
  ConformanceFailure,
  type ConformanceDescription,
  type ConformanceExchange,
  type ConformanceResult,
} from "./conformance-case.js";
import type { ConformanceSettings } from "./conformance-options.js";
import { createDeliver, type Deliver } from "./deliveries.js";
import { withoutSecret } from "./repeated-secret.js";
import { noReply, replyOf, type Reply } from "./reply.js";

/** How long an effect that comes after its answer is waited for, where a case is not about that. */
const LATE_EFFECT_MS = 2_000;
const RECORDED_CHARACTERS = 500;

/** A case while it runs against a receiver. */
export interface Trial {
  readonly settings: ConformanceSettings;
  readonly deliver: Deliver;
  /** Sends a request and records it. Never rejects. */
  readonly send: (request: WireRequest) => Promise<Reply>;
  /** The same on a connection of its own, on which nothing is sent twice over a broken one. */
  readonly sendAlone: (request: WireRequest) => Promise<Reply>;
  /** The same by another way than the target's own. */
  readonly sendBy: (request: WireRequest, call: () => Promise<WireAnswer>) => Promise<Reply>;
  /** How often a delivery has been handled by now; undefined where there is no probe. */
  readonly runsOf: (id: string) => Promise<number | undefined>;
  /** The same, after the time that a late effect may take. */
  readonly settledRunsOf: (id: string) => Promise<number | undefined>;
  /** Whether the receiver takes a genuine delivery at all: otherwise its refusals say nothing. */
  readonly takesGenuine: () => Promise<boolean>;
  /** Says in the result why the case passed. */
  readonly note: (reason: string) => void;
  /** Ends the case unjudged, unless it fails after all. */
  readonly unseen: (reason: string) => void;
  readonly failure: (message: string) => ConformanceFailure;
}

/** It cannot be seen from outside whether the receiver does what it has to. */
export class NotJudged extends Error {}

/**
 * Runs `judge` with a trial of a case, on connections of its own. `takesGenuine` is the suite's, asked
 * once for all of its cases. Rejects with what `judge` rejects with, unless that is `NotJudged`.
 */
export async function withTrial(
  description: ConformanceDescription,
  settings: ConformanceSettings,
  takesGenuine: () => Promise<boolean>,
  judge: (trial: Trial) => Promise<void>,
): Promise<ConformanceResult> {
  const { secret, target, timeoutMs, skipTlsVerification } = settings;
  const open = () => createSender(target, { timeoutMs, skipTlsVerification });
  const sender = open();
  const exchanges: ConformanceExchange[] = [];
  let reason: string | undefined;
  let unseen: string | undefined;

  const sendBy: Trial["sendBy"] = async (request, call) => {
    const { method, headers, body } = request;
    const sent = { method, headers, bytes: body?.length ?? 0 };
    try {
      const answer = await call();
      exchanges.push({ sent, received: recorded(answer, secret) });
      return replyOf(answer);
    } catch (error) {
      const failure = sendErrorOf(error);
      exchanges.push({ sent, received: { error: failure.message } });
      return noReply(failure);
    }
  };

  const failure = (message: string): ConformanceFailure =>
    new ConformanceFailure(message, description, exchanges);

  const runsOf: Trial["runsOf"] = async (id) => {
    if (settings.handled === undefined) return undefined;
    let runs: unknown;
    try {
      runs = await settings.handled(id);
    } catch (error) {
      throw failure(`the option handled failed: ${errorText(error)}`);
    }
    if (Number.isInteger(runs) && (runs as number) >= 0) return runs as number;
    throw failure("the option handled has to give a whole number");
  };

  const trial: Trial = {
    settings,
    deliver: createDeliver(settings),
    send: (request) => sendBy(request, () => sender.send(request)),
    async sendAlone(request) {
      const alone = open();
      const reply = await sendBy(request, () => alone.send(request));
      alone.close();
      return reply;
    },
    sendBy,
    runsOf,
    async settledRunsOf(id) {
      const until = performance.now() + LATE_EFFECT_MS;
      let runs = await runsOf(id);
      while (runs === 0 && performance.now() < until) {
        await wait(20);
        runs = await runsOf(id);
      }
      return runs;
    },
    takesGenuine,
    note: (text) => {
      reason = text;
    },
    unseen: (text) => {
      unseen ??= text;
    },
    failure,
  };

  try {
    await judge(trial);
  } catch (error) {
    if (!(error instanceof NotJudged)) throw error;
    return { verdict: "not_judged", reason: error.message, exchanges };
  } finally {
    sender.close();
  }
  if (unseen !== undefined) return { verdict: "not_judged", reason: unseen, exchanges };
  return { verdict: "passed", exchanges, ...(reason === undefined ? {} : { reason }) };
}

/** An answer for a report: not at any length, and without the secret where a receiver repeats it. */
function recorded({ status, headers, body, ms }: WireAnswer, secret: string) {
  const hide = (text: string): string => withoutSecret(text, secret);
  const hidden = Object.entries(headers).map(([name, value]) => [name, hide(value)] as const);
  return {
    status,
    headers: Object.fromEntries(hidden),
    body: hide(body).slice(0, RECORDED_CHARACTERS),
    ms,
  };
}
