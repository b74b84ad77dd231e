import { setTimeout as wait } from "node:timers/promises";
import type { WireRequest } from "../sending/wire.js";
import { CaseExchanges } from "./case-exchanges.js";
import { UNMET_NEEDS } from "./conformance-options.js";
import {
  isOfHandler,
  isOfLimiter,
  isRetried,
  saysLater,
  times,
  type ReceiverAnswer,
} from "./receiver-answer.js";
import { ID, TIMESTAMP, type Delivery, type NamedDeliveries } from "./test-deliveries.js";

/** How often a request is sent that a rate limiter or a proxy answers. */
const MAX_SENDS = 5;
/** How often a request gets 429, and a genuine delivery before it is acknowledged, until that is no chance. */
const SENDS_TO_CHOICE = 3;
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 1_000;

type Send = () => Promise<ReceiverAnswer>;

/** What a case uses while it runs against a receiver: requests, ways to send them, and what their answers must be. */
export class CaseContext extends CaseExchanges {
  /**
   * Sends a delivery that must be acknowledged. Sends it again a few times when a rate limiter answers "try
   * later", which is no refusal. Waits as long as `Retry-After` says, at most one second.
   */
  sendGenuine(delivery: Delivery, send: Send = () => this.send(delivery)): Promise<ReceiverAnswer> {
    return sendWhile(saysLater, send);
  }

  /** Sends a delivery like `sendGenuine`. It must be acknowledged and, if that can be seen, handled once. */
  async accept(name: string, delivery: Delivery, send?: Send): Promise<void> {
    await this.expectAccepted(name, delivery.id, await this.sendGenuine(delivery, send));
    this.suite.first ??= delivery;
  }

  /** The same for a delivery that may need retries. */
  async acceptInTheEnd(
    name: string,
    delivery: Delivery,
    send: Send = () => this.sendAgain(delivery),
    leaseMs?: number,
  ): Promise<ReceiverAnswer> {
    const answer = await this.sendUntilAcknowledged(send, leaseMs);
    await this.expectAccepted(name, delivery.id, answer);
    return answer;
  }

  /** Sends a request that must neither be acknowledged nor handled. No answer is fine. */
  async refuse(name: string, request: WireRequest & Pick<Delivery, "id">, send?: Send) {
    const answer = await this.sendPastLimiter(request, send);
    await this.expectNotAccepted(name, request.id, answer);
    return answer;
  }

  /** Sends a request of any kind. Sends it again when a rate limiter answers instead of the receiver. */
  async sendPastLimiter(request: WireRequest, send: Send = () => this.send(request)) {
    const answer = await send();
    if (!isOfLimiter(answer) || this.refusesWith429) return answer;
    return (await this.#sendBetweenGenuine(send)) ?? sendWhile(isOfLimiter, send);
  }

  /**
   * Sends a request that got 429, each time after a genuine delivery. A limiter answers 429 to anything, but a receiver
   * that acknowledges each of them refuses the request. Undefined when a genuine delivery gets 429 too.
   */
  async #sendBetweenGenuine(send: Send): Promise<ReceiverAnswer | undefined> {
    for (let sends = 1; ; sends++) {
      const { result } = await this.send(await this.deliver());
      if (result !== "acknowledged") return undefined;
      const answer = await send();
      if (!isOfLimiter(answer)) return answer;
      this.refusesWith429 ||= sends === SENDS_TO_CHOICE;
      if (this.refusesWith429) return answer;
    }
  }

  /** Sends a delivery as the gateway sends it again: with a new timestamp and signature. */
  sendAgain(delivery: Delivery): Promise<ReceiverAnswer> {
    const now = String(Math.floor(this.settings.now() / 1_000));
    return this.send(delivery.withHeader(TIMESTAMP, now).signedWith());
  }

  /**
   * Sends until the answer is not retryable, as the gateway does, but with short gaps. `leaseMs`: how much longer
   * when the answers name the time in `Retry-After`, as long as the lease of a delivery may still hold.
   */
  async sendUntilAcknowledged(send: Send, leaseMs = 0): Promise<ReceiverAnswer> {
    const until = performance.now() + this.settings.timeoutMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const answer = await send();
      const namesTime = answer.wire?.headers["retry-after"] !== undefined;
      const latest = namesTime ? until + leaseMs : until;
      if (!isRetried(answer) || performance.now() + pauseMs > latest) return answer;
      await wait(pauseMs);
    }
  }

  /** Each delivery must be acknowledged and, if that can be seen, handled once. */
  async expectAllAccepted(deliveries: NamedDeliveries): Promise<void> {
    await this.inGroups(deliveries, ([name, delivery]) => this.accept(name, delivery));
  }

  /** `answer` must acknowledge the delivery `id`, which was not sent before. */
  async expectAccepted(name: string, id: string, answer: ReceiverAnswer): Promise<void> {
    this.expectAcknowledged(name, answer);
    const runs = await this.settledRunsOf(id);
    if (runs === undefined || runs === 1) return;
    const code = runs === 0 ? "not_handled" : "handled_again";
    throw this.failureAfter(code, name, answer, `but handled ${this.timesIn(runs)}`);
  }

  /**
   * Each delivery is genuine, but may be unknown to the receiver. It must be acknowledged and handled, or the
   * gateway must send it again, and then it must not be handled a second time.
   */
  async expectAcceptedOrRetried(deliveries: NamedDeliveries): Promise<void> {
    let unseen: string | undefined;
    await this.inGroups(deliveries, async ([name, delivery]) => {
      const answer = await this.sendPastLimiter(delivery);
      if (isRetried(answer)) {
        this.ensureNotOfLimiter(name, answer);
        await this.#ensureAnswered(name, answer);
        return this.#expectFailureOfOnce(name, delivery, answer);
      }
      this.expect(answer.result === "acknowledged", name, "2xx or a retryable status", answer);
      if ((await this.#runsOfAcknowledged(name, delivery, answer)) === undefined) unseen ??= name;
    });
    if (unseen === undefined) return;
    const { handled } = this.settings.names;
    const reason = `${unseen} was acknowledged; to see whether it was also handled, pass ${handled}`;
    this.note(reason, "handled");
  }

  /**
   * Each request may be genuine, but that cannot be verified. The gateway must not give it up, and a request
   * that is acknowledged must be handled. If that cannot be seen, the case is not judged.
   */
  async expectNotGivenUp(requests: NamedDeliveries): Promise<void> {
    await this.inGroups(requests, async ([name, request]) => {
      const answer = await this.sendPastLimiter(request);
      this.ensureNotOfLimiter(name, answer);
      this.expect(answer.result !== "final", name, "a retryable status", answer);
      if (answer.result === "acknowledged") {
        const runs = await this.#runsOfAcknowledged(name, request, answer);
        if (runs === undefined && answer.outcome !== "handled") {
          const reason = `${name} was acknowledged; whether it was handled cannot be seen without ${this.settings.names.handled}`;
          this.leaveUnjudged("handled", reason);
        }
      }
      await this.#ensureAnswered(name, answer);
    });
  }

  /**
   * Sends a delivery again after a 5xx, as the gateway does up to ten times. A handler that fails after its work, in
   * the line that writes a log, would do the work each time. A record that it cannot take fails each time.
   */
  async #expectFailureOfOnce(name: string, delivery: Delivery, first: ReceiverAnswer) {
    const { wire } = first;
    if (wire !== undefined && wire.status < 500) return;
    const again = await this.sendPastLimiter(delivery, () => this.sendAgain(delivery));
    const which = `${name}, sent again after ${wire?.status ?? "no answer"}`;
    if (isOfHandler(first) && isOfHandler(again)) this.untaken.push(name);
    const runs =
      again.result === "acknowledged"
        ? await this.#runsOfAcknowledged(which, delivery, again)
        : await this.runsOf(delivery.id);
    if (runs === undefined || runs <= 1) return;
    throw this.failureAfter("handled_again", which, again, `and handled ${times(runs)}`);
  }

  /** How often an acknowledged delivery was handled: at least once, or undefined if that cannot be seen. */
  async #runsOfAcknowledged(name: string, request: Delivery, answer: ReceiverAnswer) {
    // Without the id header the receiver does not know the id, so `handled` cannot count it.
    const hasId = request.header(ID) !== "";
    const runs = hasId ? await this.settledRunsOf(request.id) : undefined;
    if (runs !== 0) return runs;
    throw this.failureAfter("not_handled", name, answer, `but handled ${this.timesIn(0)}`);
  }

  /**
   * No request is the gateway's: each must be refused and not handled. A closed connection is a refusal too, unless
   * the process ended with it.
   */
  async expectRefused(requests: NamedDeliveries): Promise<void> {
    // A receiver that refuses everything would pass.
    await this.ensureAcceptsGenuine();
    let unanswered: string | undefined;
    await this.inGroups(requests, async ([name, request]) => {
      const answer = await this.refuse(name, request);
      this.expect(answer.result !== "timeout", name, "a refusal", answer);
      if (answer.wire === undefined) unanswered = name;
    });
    if (unanswered !== undefined) await this.expectStillAccepts(unanswered);
  }

  /** `answer` must not acknowledge the delivery `id`, which must not be handled. No answer is fine. */
  async expectNotAccepted(name: string, id: string, answer: ReceiverAnswer): Promise<void> {
    this.expect(answer.result !== "acknowledged", name, "a refusal", answer);
    const runs = await this.runsOf(id);
    if (runs !== undefined && runs > 0) {
      throw this.failureAfter("wrongly_handled", name, answer, `but handled ${times(runs)}`);
    }
    this.ensureNotOfLimiter(name, answer);
    this.suite.log.refusedForgery(id);
  }

  /** Ends the case as not judged when a rate limiter keeps answering instead of the receiver. */
  ensureNotOfLimiter(name: string, answer: ReceiverAnswer): void {
    if (!isOfLimiter(answer) || this.refusesWith429) return;
    const reason = UNMET_NEEDS.no_rate_limiter(this.settings.names);
    throw this.notJudged("no_rate_limiter", `${name}: ${reason}`);
  }

  /** Ends the case as not judged when the receiver refuses everything: then a refusal proves nothing. */
  async ensureAcceptsGenuine(): Promise<void> {
    if (!(await this.suite.acceptsGenuine())) throw this.notJudged("accepted_delivery");
  }

  /** The receiver must still accept a genuine delivery. `after` says what was sent before, for a message. */
  async expectStillAccepts(after: string): Promise<void> {
    await this.ensureAcceptsGenuine();
    const answer = await this.sendGenuine(await this.deliver());
    this.expectAcknowledged(`a genuine delivery after ${after}`, answer);
  }

  /**
   * A missing answer makes the gateway send again, so a closed connection is fine. It is not fine from a
   * receiver that answers nothing, and neither is a time-out.
   */
  async #ensureAnswered(name: string, answer: ReceiverAnswer): Promise<void> {
    const isMissing =
      answer.result === "timeout" ||
      (answer.wire === undefined && !(await this.suite.acceptsGenuine()));
    this.expect(!isMissing, name, "an answer", answer);
  }

  /** Like `times`, for a count that a case has waited for. */
  timesIn(runs: number, withinMs = this.settings.handledWithinMs): string {
    return runs > 0 ? times(runs) : `never in ${withinMs} ms`;
  }
}

async function sendWhile(mustResend: (answer: ReceiverAnswer) => boolean, send: Send) {
  for (let sends = 1; ; sends++) {
    const answer = await send();
    if (sends === MAX_SENDS || !mustResend(answer)) return answer;
    const seconds = Number(answer.wire?.headers["retry-after"] ?? Number.NaN);
    const pauseMs = Number.isNaN(seconds) ? FIRST_PAUSE_MS * 2 ** sends : 1_000 * seconds;
    await wait(Math.min(Math.max(pauseMs, 0), MAX_PAUSE_MS));
  }
}
