import type { Delivery } from "./deliveries.js";
import { isSentAgain, type Reply } from "./reply.js";
import { headerOf, ID } from "./request-changes.js";
import { isOfLimiter, sendGenuine, sendPastLimiter } from "./send-genuine.js";
import { NotJudged, type Trial } from "./trial.js";

/** A request, and what to call it in a message. */
export type Named<T> = readonly [name: string, request: T];

/** Each has to be acknowledged and, where that can be seen, handled once. */
export async function expectAcknowledged(
  trial: Trial,
  deliveries: readonly Named<Delivery>[],
): Promise<void> {
  for (const [name, delivery] of deliveries) {
    await expectTaken(trial, name, delivery.id, await sendGenuine(trial, delivery));
  }
}

/** One answer has to acknowledge a delivery that was not sent before. */
export async function expectTaken(
  trial: Trial,
  name: string,
  id: string,
  reply: Reply,
): Promise<void> {
  if (reply.verdict !== "acknowledged") {
    throw trial.failure(`${name}: expected 2xx, got ${reply.text}`);
  }
  const runs = await trial.settledRunsOf(id);
  if (runs !== undefined && runs !== 1) {
    throw trial.failure(`${name}: answered ${reply.text}, but handled ${times(runs)}`);
  }
}

/** Genuine, but perhaps not what the receiver knows: acknowledged and kept, or sent again. */
export async function expectKeptOrSentAgain(
  trial: Trial,
  deliveries: readonly Named<Delivery>[],
): Promise<void> {
  let unseen: string | undefined;
  for (const [name, delivery] of deliveries) {
    const reply = await sendPastLimiter(trial, delivery);
    if (isSentAgain(reply)) {
      ensureOwnAnswer(name, reply);
      await ensureAnswered(trial, name, reply);
      continue;
    }
    if (reply.verdict !== "acknowledged") {
      throw trial.failure(`${name}: expected 2xx or a retryable status, got ${reply.text}`);
    }
    if ((await runsOfKept(trial, name, delivery, reply)) === undefined) unseen ??= name;
  }
  if (unseen !== undefined) {
    trial.note(`${unseen} was acknowledged; whether it was kept is seen with handled alone`);
  }
}

/**
 * Not provably the gateway's, but perhaps: never a status on which the gateway gives up, nor a 2xx for
 * what is dropped. Where that stays unseen the case is not judged: to take it is not what is asked here.
 */
export async function expectNotGivenUp(
  trial: Trial,
  requests: readonly Named<Delivery>[],
): Promise<void> {
  for (const [name, request] of requests) {
    const reply = await sendPastLimiter(trial, request);
    ensureOwnAnswer(name, reply);
    if (reply.verdict === "final") {
      throw trial.failure(`${name}: expected a retryable status, got ${reply.text}`);
    }
    if (reply.verdict === "acknowledged") {
      const runs = await runsOfKept(trial, name, request, reply);
      if (runs === undefined && reply.outcome !== "handled") {
        trial.unseen(`${name} was acknowledged; whether it was kept cannot be seen: give handled`);
      }
    }
    await ensureAnswered(trial, name, reply);
  }
}

/** How often was handled what was acknowledged, which has to be once at least; undefined where unseen. */
async function runsOfKept(
  trial: Trial,
  name: string,
  request: Delivery,
  { text }: Reply,
): Promise<number | undefined> {
  // Without its header the receiver cannot know the id that is asked for.
  const runs = headerOf(request, ID) === "" ? undefined : await trial.settledRunsOf(request.id);
  if (runs === 0) throw trial.failure(`${name}: answered ${text}, but handled ${times(runs)}`);
  return runs;
}

/** Not the gateway's: neither acknowledged nor handled. */
export async function expectRefused(
  trial: Trial,
  requests: readonly Named<Delivery>[],
): Promise<void> {
  // A receiver that refuses everything would pass.
  await ensureTakesGenuine(trial);
  for (const [name, request] of requests) {
    const reply = await sendPastLimiter(trial, request);
    await ensureNotTaken(trial, name, request.id, reply);
    if (reply.answer === undefined) {
      throw trial.failure(`${name}: expected a refusal, got ${reply.text}`);
    }
  }
}

/** The judgement of one refusal; none is needed where the connection is closed instead. */
export async function ensureNotTaken(
  trial: Trial,
  name: string,
  id: string,
  reply: Reply,
): Promise<void> {
  if (reply.verdict === "acknowledged") {
    throw trial.failure(`${name}: expected a refusal, got ${reply.text}`);
  }
  const runs = await trial.runsOf(id);
  if (runs !== undefined && runs > 0) {
    throw trial.failure(`${name}: answered ${reply.text}, but handled ${times(runs)}`);
  }
  ensureOwnAnswer(name, reply);
}

/** Ends the case unjudged where a rate limiter goes on answering in the receiver's place. */
function ensureOwnAnswer(name: string, reply: Reply): void {
  if (!isOfLimiter(reply)) return;
  throw new NotJudged(
    `${name}: answered 429, as a rate limiter answers anything: lift its limit for this run`,
  );
}

/** Ends the case unjudged where the receiver refuses everything, so that a refusal says nothing. */
export async function ensureTakesGenuine(trial: Trial): Promise<void> {
  if (await trial.takesGenuine()) return;
  throw new NotJudged("the receiver does not take a plain genuine delivery: mend that first");
}

/** After what may be answered by closing the connection, the next delivery still has to be taken. */
export async function expectSurvived(trial: Trial, after: string): Promise<void> {
  await ensureTakesGenuine(trial);
  const reply = await sendGenuine(trial, await trial.deliver());
  if (reply.verdict !== "acknowledged") {
    throw trial.failure(`a genuine delivery after ${after}: expected 2xx, got ${reply.text}`);
  }
}

/** That no answer comes is retried, but from a receiver that answers nothing it is no merit. */
async function ensureAnswered(trial: Trial, name: string, reply: Reply): Promise<void> {
  if (reply.verdict === "timeout")
    throw trial.failure(`${name}: expected an answer, got ${reply.text}`);
  if (reply.answer === undefined && !(await trial.takesGenuine())) {
    throw trial.failure(`${name}: expected an answer, got ${reply.text}`);
  }
}

/** "once", "3 times", for a message. */
export function times(runs: number): string {
  if (runs === 0) return "never";
  return runs === 1 ? "once" : `${runs} times`;
}
