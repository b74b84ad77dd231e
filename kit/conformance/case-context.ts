import { setTimeout as wait } from "node:timers/promises";
import { createSender } from "../sending/sender.js";
import { errorText, sendErrorOf, type Sender } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import {
  ConformanceFailure,
  type ConformanceDescription,
  type ConformanceExchange,
  type ConformanceResult,
} from "./conformance-case.js";
import type { ConformanceSettings } from "./conformance-options.js";
import type { DeliveryLog } from "./delivery-log.js";
import { answerOf, noAnswer, type ReceiverAnswer } from "./receiver-answer.js";
import type { SecretWatch } from "./secret-watch.js";
import { makeDelivery, type MakeDelivery } from "./test-deliveries.js";

/** How often a count is read while a case waits for it. A count may be an HTTP request. */
const FIRST_COUNT_PAUSE_MS = 20;
const MAX_COUNT_PAUSE_MS = 200;
const RECORDED_CHARACTERS = 500;

/** Thrown when it cannot be seen from outside whether the receiver conforms. */
export class NotJudged extends Error {}

/** What the cases of one suite share. */
export interface SuiteState {
  readonly log: DeliveryLog;
  /** Sees every answer of the run. */
  readonly secretWatch: SecretWatch;
  /** Whether the receiver accepts a plain genuine delivery. If not, its refusals prove nothing. */
  readonly acceptsGenuine: () => Promise<boolean>;
}

/** What a case uses while it runs against a receiver. */
export class CaseContext {
  readonly settings: ConformanceSettings;
  /** Whether the receiver accepts a plain genuine delivery. If not, its refusals prove nothing. */
  readonly acceptsGenuine: () => Promise<boolean>;
  /** What all cases of the suite have counted. */
  readonly log: DeliveryLog;
  /** Sees every answer of the run, not only of this case. */
  readonly secretWatch: SecretWatch;
  readonly deliver: MakeDelivery = (changes) => makeDelivery(this.settings, changes);
  /** Every request so far. */
  readonly exchanges: ConformanceExchange[] = [];
  readonly #counted = new Set<string>();
  readonly #description: ConformanceDescription;
  readonly #sender: Sender;
  #note: string | undefined;
  #notJudged: string | undefined;

  constructor(
    description: ConformanceDescription,
    settings: ConformanceSettings,
    { log, acceptsGenuine, secretWatch }: SuiteState,
  ) {
    this.settings = settings;
    this.log = log;
    this.secretWatch = secretWatch;
    this.acceptsGenuine = acceptsGenuine;
    this.#description = description;
    this.#sender = this.#openSender();
  }

  /** Sends a request and records it. Never rejects. */
  send(request: WireRequest): Promise<ReceiverAnswer> {
    return this.sendBy(request, () => this.#sender.send(request));
  }

  /** Sends a request on a new connection, so that a stale connection cannot make it go out twice. */
  async sendAlone(request: WireRequest): Promise<ReceiverAnswer> {
    const sender = this.#openSender();
    const answer = await this.sendBy(request, () => sender.send(request));
    sender.close();
    return answer;
  }

  /** Sends a request by `call` and records it. Never rejects. */
  async sendBy(request: WireRequest, call: () => Promise<WireAnswer>): Promise<ReceiverAnswer> {
    const { method, headers, body } = request;
    const sent = { method, headers, bytes: body?.length ?? 0 };
    try {
      const answer = await call();
      const exchange = { sent, received: recorded(answer, this.secretWatch) };
      this.exchanges.push(exchange);
      this.secretWatch.look(answer, { caseId: this.#description.id, exchange });
      return answerOf(answer);
    } catch (error) {
      const failure = sendErrorOf(error);
      this.exchanges.push({ sent, received: { error: failure.message } });
      return noAnswer(failure);
    }
  }

  /** How often a delivery has been handled by now. Undefined without the option `handled`. */
  async runsOf(id: string): Promise<number | undefined> {
    if (this.settings.handled === undefined) return undefined;
    let runs: unknown;
    try {
      runs = await this.settings.handled(id);
    } catch (error) {
      throw this.failure(`the option handled failed: ${errorText(error)}`);
    }
    if (Number.isInteger(runs) && (runs as number) >= 0) {
      this.log.counted(id, runs as number);
      this.#counted.add(id);
      return runs as number;
    }
    throw this.failure("the option handled must return a whole number");
  }

  /** Like `runsOf`, but waits for a handler that finishes after the answer. */
  async settledRunsOf(id: string): Promise<number | undefined> {
    const until = performance.now() + this.settings.handledWithinMs;
    let runs = await this.runsOf(id);
    for (let pauseMs = FIRST_COUNT_PAUSE_MS; runs === 0; pauseMs *= 1.2) {
      const leftMs = until - performance.now();
      if (leftMs <= 0) break;
      await wait(Math.min(pauseMs, MAX_COUNT_PAUSE_MS, leftMs));
      runs = await this.runsOf(id);
    }
    return runs;
  }

  /** Adds a reason to the result of a case that passes. */
  note(reason: string): void {
    this.#note = reason;
  }

  /** Ends the case as `not_judged`, unless it fails later. */
  leaveUnjudged(reason: string): void {
    this.#notJudged ??= reason;
  }

  /** The error to throw when the receiver fails the case. */
  failure(message: string): ConformanceFailure {
    return new ConformanceFailure(message, this.#description, this.exchanges);
  }

  /** The result of a case that did not fail. */
  result(): ConformanceResult {
    const { exchanges } = this;
    if (this.#notJudged !== undefined) {
      return { result: "not_judged", reason: this.#notJudged, exchanges };
    }
    return {
      result: "passed",
      exchanges,
      ...(this.#note === undefined ? {} : { reason: this.#note }),
    };
  }

  /** Leaves what this case has counted out of the last case: after its failure the rest is not counted. */
  forgetCounts(): void {
    for (const id of this.#counted) this.log.forget(id);
  }

  /** Closes the connections. */
  close(): void {
    this.#sender.close();
  }

  #openSender(): Sender {
    const { target, timeoutMs, skipTlsVerification } = this.settings;
    return createSender(target, { timeoutMs, skipTlsVerification });
  }
}

/**
 * Runs `check` in a new context. Rejects with what `check` throws, unless that is `NotJudged`. Cases of one suite
 * share the state.
 */
export async function runCheck(
  description: ConformanceDescription,
  settings: ConformanceSettings,
  state: SuiteState,
  check: (context: CaseContext) => Promise<void>,
): Promise<ConformanceResult> {
  const context = new CaseContext(description, settings, state);
  try {
    await check(context);
    return context.result();
  } catch (error) {
    if (!(error instanceof NotJudged)) {
      context.forgetCounts();
      throw error;
    }
    return { result: "not_judged", reason: error.message, exchanges: context.exchanges };
  } finally {
    context.close();
  }
}

/** An answer for a report: its body is cut, and a repeated secret is hidden. */
function recorded({ status, headers, body, ms }: WireAnswer, secretWatch: SecretWatch) {
  const hidden = Object.entries(headers).map(
    ([name, value]) => [name, secretWatch.hide(value)] as const,
  );
  return {
    status,
    headers: Object.fromEntries(hidden),
    body: secretWatch.hide(body).slice(0, RECORDED_CHARACTERS),
    ms,
  };
}
