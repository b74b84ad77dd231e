import { setTimeout as wait } from "node:timers/promises";
import { createSender } from "../sending/sender.js";
import { errorText, sendErrorOf, type Sender } from "../sending/target.js";
import { headerOf, type WireAnswer, type WireRequest } from "../sending/wire.js";
import {
  ConformanceFailure,
  type ConformanceDescription,
  type ConformanceExchange,
  type ConformanceLevel,
  type ConformanceResult,
  type FailureCode,
  type Need,
} from "./conformance-case.js";
import {
  NotJudged,
  ProbeError,
  UNMET_NEEDS,
  type ConformanceSettings,
  type HandlerOption,
} from "./conformance-options.js";
import {
  answerOf,
  codeOf,
  fixAfter,
  noAnswer,
  type Expected,
  type ReceiverAnswer,
} from "./receiver-answer.js";
import type { SuiteState } from "./suite-state.js";
import {
  each,
  ID,
  inPool,
  kindOf,
  makeDelivery,
  sampleText,
  type ChangedRecord,
  type Delivery,
  type MakeDelivery,
  type NamedDeliveries,
} from "./test-deliveries.js";

/** How often a count is read while a case waits for it. A count may be an HTTP request. */
const FIRST_COUNT_PAUSE_MS = 20;
const MAX_COUNT_PAUSE_MS = 200;

/** Why a case is not judged, or what it assumed unseen. */
interface Unseen {
  readonly need?: Need | undefined;
  readonly reason: string;
}

const OTHER = "answered_by_other";
type Call = () => Promise<WireAnswer>;

/** The requests of a case and their answers, the counts of handled deliveries, and how the case ends. */
export class CaseExchanges {
  readonly deliver: MakeDelivery = async (changes) => {
    const delivery = await makeDelivery(this.settings, changes);
    this.suite.log.made(delivery.id, kindOf(delivery.text));
    return delivery;
  };
  /** Every request so far. */
  readonly exchanges: ConformanceExchange[] = [];
  /** Whether the receiver refuses with 429 by choice, as this case has seen. */
  refusesWith429 = false;
  /** The records that the handler failed to take twice, by their names. */
  readonly untaken: string[] = [];
  /** The failure of the case because of a 2xx that is not the receiver's. It goes before any other. */
  stranger: ConformanceFailure | undefined;
  readonly #exchangeOf = new WeakMap<ReceiverAnswer, ConformanceExchange>();
  readonly #counted = new Set<string>();
  readonly #sender: Sender;
  #note: Unseen | undefined;
  #notJudged: Unseen | undefined;

  constructor(
    /** The case may raise its own level. */
    readonly description: ConformanceDescription & { level: ConformanceLevel },
    readonly settings: ConformanceSettings,
    readonly suite: SuiteState,
  ) {
    this.#sender = this.#openSender();
  }

  /** Makes something of each item, as many at a time as a case may send independent requests. */
  inGroups<Item, Made>(items: readonly Item[], make: (item: Item) => Promise<Made>) {
    return inPool(items, this.settings.requestsAtOnce, make);
  }

  /** A delivery of each changed record that the receiver is registered for and does not leave out. */
  records(records: readonly ChangedRecord[]): Promise<NamedDeliveries> {
    const { types, leftOut } = this.settings;
    const own = records.filter(
      ([type, , { event_type, type: kind }]) =>
        types.includes(type) && !leftOut.includes(String(event_type ?? kind)),
    );
    return each(own, async ([type, name, changes]) => {
      const body = sampleText(type, changes);
      return [name, await this.deliver({ type, body })] as const;
    });
  }

  /** The same requests for each type that the receiver is registered for. */
  async ofEachType(requests: (deliver: MakeDelivery) => Promise<NamedDeliveries>) {
    const lists = await each(this.settings.types, async (type, at) => {
      const named = await requests((changes) => this.deliver({ type, ...changes }));
      return at === 0 ? named : named.map(([name, one]) => [`${name} (${type})`, one] as const);
    });
    return lists.flat();
  }

  /** Makes deliveries, of each registered type in turn. */
  ofAllTypes(count: number): Promise<readonly Delivery[]> {
    const { types } = this.settings;
    return each(Array.from({ length: count }), (_, at) =>
      this.deliver({ type: types[at % types.length] }),
    );
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

  /** Sends a request by `call` and records it. `isRaw`: its answer was not read by an HTTP client. Never rejects. */
  async sendBy(request: WireRequest, call: Call, isRaw = false): Promise<ReceiverAnswer> {
    const { method, headers, body } = request;
    const sent = { method, headers, bytes: body?.length ?? 0 };
    try {
      const wire = await call();
      const exchange = { sent, received: this.suite.secretWatch.record(wire) };
      this.exchanges.push(exchange);
      this.suite.secretWatch.look(wire, { caseId: this.description.id, exchange });
      const stranger = isRaw ? undefined : this.suite.answerWatch.strangerIn(request, wire);
      const answer = answerOf(wire, stranger);
      this.#exchangeOf.set(answer, exchange);
      if (stranger !== undefined) this.stranger ??= this.failure(OTHER, stranger, answer);
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
  async settledRunsOf(id: string, withinMs = this.settings.handledWithinMs) {
    const until = performance.now() + withinMs;
    let runs = await this.runsOf(id);
    if (runs !== undefined && runs > 0) this.suite.log.countedAtOnce(id);
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

  /**
   * Without the option `handled` the outcome in an answer decides: it must be the wanted one, by default any. A receiver
   * that remembers a failed id as handled also acknowledges the next retry.
   */
  trustOutcome({ outcome }: ReceiverAnswer, wanted = outcome): void {
    if (this.settings.handled !== undefined) return;
    if (outcome === undefined || outcome !== wanted) this.leaveUnjudged("handled");
    else this.noteTrustedOutcome();
  }

  /** Notes that the case passes by the outcome in the receiver's answer. */
  noteTrustedOutcome(): void {
    const { handled } = this.settings.names;
    const reason = `judged by the outcome in the receiver's answer; to see it, pass ${handled}`;
    this.note(reason, "handled");
  }

  /** Ends the case as `not_judged`, unless it fails later. */
  leaveUnjudged(need: Need, reason = UNMET_NEEDS[need](this.settings.names)): void {
    this.#notJudged ??= { need, reason };
  }

  /** The error to throw when it cannot be seen from outside whether the receiver conforms. */
  notJudged(need: Need, reason = UNMET_NEEDS[need](this.settings.names)): Error {
    return new NotJudged(need, reason);
  }

  /** The error to throw when the receiver fails the case. `answer`: the wrong one, if not the last one. */
  failure(code: FailureCode, message: string, answer?: ReceiverAnswer): ConformanceFailure {
    const wrong = answer && this.#exchangeOf.get(answer);
    const isUnhandled = code === "not_handled" || code === "duplicates_not_handled";
    const id = (wrong && headerOf(wrong.sent.headers, ID)) ?? "";
    const why = isUnhandled ? this.suite.log.whyUnhandled(id, this.settings.names) : "";
    const others = this.exchanges.filter((exchange) => exchange !== wrong);
    const exchanges = wrong === undefined ? others : [...others, wrong];
    const fix = fixAfter(code, this.description, answer);
    return new ConformanceFailure(code, message + why, { ...this.description, fix }, exchanges);
  }

  /** The error to throw when the answer to `name` is no excuse for what was seen, which `what` says. */
  failureAfter(code: FailureCode, name: string, answer: ReceiverAnswer, what: string) {
    return this.failure(code, `${name}: answered ${answer.text}, ${what}`, answer);
  }

  /** Throws unless the delivery `name` is acknowledged. */
  expectAcknowledged(name: string, answer: ReceiverAnswer): void {
    this.expect(answer.result === "acknowledged", name, "2xx", answer);
  }

  /** Throws unless the answer to `name` is as it must be, and the receiver's own. */
  expect(holds: boolean, ...unexpected: Parameters<CaseExchanges["unexpected"]>): void {
    const [name, , answer] = unexpected;
    if (answer.stranger !== undefined) {
      throw (this.stranger = this.failure(OTHER, `${name}: ${answer.stranger}`, answer));
    }
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
    const { untaken, exchanges } = this;
    const reason = this.#notJudged ?? this.#note;
    return { result, ...reason, ...(untaken.length > 0 ? { untaken } : {}), exchanges };
  }

  /** Leaves what this case has counted out of the last case: after its failure the rest is not counted. */
  forgetCounts(): void {
    for (const id of this.#counted) this.suite.log.forget(id);
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
