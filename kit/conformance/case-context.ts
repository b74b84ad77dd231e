import { setTimeout as wait } from "node:timers/promises";
import { createSender } from "../sending/sender.js";
import { errorText, sendErrorOf, type Sender } from "../sending/target.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import {
  ConformanceFailure,
  type ConformanceDescription,
  type ConformanceExchange,
  type ConformanceResult,
  type FailureCode,
  type Need,
} from "./conformance-case.js";
import { ProbeError, type ConformanceSettings, type HandlerOption } from "./conformance-options.js";
import type { DeliveryLog } from "./delivery-log.js";
import { NotJudged, UNMET_NEEDS } from "./needs.js";
import {
  adviceOn,
  answerOf,
  codeOf,
  noAnswer,
  type Expected,
  type ReceiverAnswer,
} from "./receiver-answer.js";
import type { SecretWatch } from "./secret-watch.js";
import { makeDelivery, type MakeDelivery } from "./test-deliveries.js";

/** How often a count is read while a case waits for it. A count may be an HTTP request. */
const FIRST_COUNT_PAUSE_MS = 20;
const MAX_COUNT_PAUSE_MS = 200;

/** Why a case is not judged, or what it assumed unseen. */
interface Unseen {
  readonly need?: Need | undefined;
  readonly reason: string;
}

/** What the cases of one suite share. */
export interface SuiteState {
  /** What all cases have counted. */
  readonly log: DeliveryLog;
  /** Sees every answer of the run, not only of one case. */
  readonly secretWatch: SecretWatch;
  /** Whether the receiver accepts a plain genuine delivery. If not, its refusals prove nothing. */
  readonly acceptsGenuine: () => Promise<boolean>;
}

/** What a case uses while it runs against a receiver. */
export class CaseContext {
  readonly deliver: MakeDelivery = (changes) => makeDelivery(this.settings, changes);
  /** Every request so far. */
  readonly exchanges: ConformanceExchange[] = [];
  /** Whether the receiver refuses with 429 by choice, as this case has seen. */
  refusesWith429 = false;
  readonly #exchangeOf = new WeakMap<ReceiverAnswer, ConformanceExchange>();
  readonly #counted = new Set<string>();
  readonly #description: ConformanceDescription;
  readonly #sender: Sender;
  #note: Unseen | undefined;
  #notJudged: Unseen | undefined;

  constructor(
    description: ConformanceDescription,
    readonly settings: ConformanceSettings,
    readonly suite: SuiteState,
  ) {
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
      const wire = await call();
      const exchange = { sent, received: this.suite.secretWatch.record(wire) };
      this.exchanges.push(exchange);
      this.suite.secretWatch.look(wire, { caseId: this.#description.id, exchange });
      const answer = answerOf(wire);
      this.#exchangeOf.set(answer, exchange);
      return answer;
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
      throw this.probeFailure("handled", error);
    }
    if (Number.isInteger(runs) && (runs as number) >= 0) {
      this.suite.log.counted(id, runs as number);
      this.#counted.add(id);
      return runs as number;
    }
    throw this.failure("probe_failed", `${this.settings.names.handled} must return a whole number`);
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

  /** Adds a reason to the result of a case that passes. `need`: what would show it. */
  note(reason: string, need?: Need): void {
    this.#note = { reason, need };
  }

  /** Notes that the case passes by the outcome in the receiver's answer. */
  noteTrustedOutcome(): void {
    const { handled } = this.settings.names;
    const reason = `judged by the outcome in the receiver's answer; to see it, pass ${handled}`;
    this.note(reason, "handled");
  }

  /** Ends the case as `not_judged`, unless it fails later. */
  leaveUnjudged(need: Need, reason = this.#textOf(need)): void {
    this.#notJudged ??= { need, reason };
  }

  /** The error to throw when it cannot be seen from outside whether the receiver conforms. */
  notJudged(need: Need, reason = this.#textOf(need)): Error {
    return new NotJudged(need, reason);
  }

  /** The error to throw when the receiver fails the case. `answer`: the wrong one, if not the last one. */
  failure(code: FailureCode, message: string, answer?: ReceiverAnswer): ConformanceFailure {
    const wrong = answer && this.#exchangeOf.get(answer);
    const others = this.exchanges.filter((exchange) => exchange !== wrong);
    const exchanges = wrong === undefined ? others : [...others, wrong];
    const own = code === "receiver_failed" ? { fix: adviceOn(answer?.outcome) ?? "" } : {};
    return new ConformanceFailure(code, message, { ...this.#description, ...own }, exchanges);
  }

  /** The error to throw when the answer to `name` is no excuse for what was seen, which `what` says. */
  failureAfter(
    code: FailureCode,
    name: string,
    answer: ReceiverAnswer,
    what: string,
  ): ConformanceFailure {
    return this.failure(code, `${name}: answered ${answer.text}, ${what}`, answer);
  }

  /** Throws unless the delivery `name` is acknowledged. */
  expectAcknowledged(name: string, answer: ReceiverAnswer): void {
    this.expect(answer.result === "acknowledged", name, "2xx", answer);
  }

  /** Throws unless the answer to `name` is as it must be. */
  expect(holds: boolean, ...unexpected: Parameters<CaseContext["unexpected"]>): void {
    if (!holds) throw this.unexpected(...unexpected);
  }

  /** The error to throw when the answer to `name` is not the expected one. */
  unexpected(name: string, expected: Expected, answer: ReceiverAnswer): ConformanceFailure {
    const message = `${name}: expected ${expected}, got ${answer.text}`;
    return this.failure(codeOf(expected, answer), message, answer);
  }

  /** The error to throw when an option of the suite fails. */
  probeFailure(option: "handled" | HandlerOption, error: unknown): ConformanceFailure {
    const text = errorText(error);
    const failed = error instanceof ProbeError ? "" : `${this.settings.names[option]} failed: `;
    return this.failure("probe_failed", failed + text);
  }

  /** The result of a case that did not fail. */
  result(): ConformanceResult {
    const result = this.#notJudged === undefined ? "passed" : "not_judged";
    return { result, ...(this.#notJudged ?? this.#note), exchanges: this.exchanges };
  }

  /** Leaves what this case has counted out of the last case: after its failure the rest is not counted. */
  forgetCounts(): void {
    for (const id of this.#counted) this.suite.log.forget(id);
  }

  /** Closes the connections. */
  close(): void {
    this.#sender.close();
  }

  #textOf(need: Need): string {
    return UNMET_NEEDS[need](this.settings.names);
  }

  #openSender(): Sender {
    const { target, timeoutMs, skipTlsVerification } = this.settings;
    return createSender(target, { timeoutMs, skipTlsVerification });
  }
}
