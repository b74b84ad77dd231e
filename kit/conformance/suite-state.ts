import { isDeliveryId } from "../../src/delivery/headers.js";
import { answeredBy, type AnsweredBy } from "../sending/answered-by.js";
import type { WireAnswer, WireRequest } from "../sending/wire.js";
import type { ConformanceExchange } from "./conformance-case.js";
import type { OptionNames } from "./conformance-options.js";
import type { Delivery } from "./test-deliveries.js";

/** What the cases have seen of a delivery. */
export interface LoggedDelivery {
  readonly id: string;
  /** The highest count that a case has read. */
  readonly runs: number;
  /** True for a request that must never be handled. */
  readonly isForged: boolean;
}

/**
 * What the cases of one suite have counted. The last case counts again, once for all of them: an effect may come
 * after the case that caused it.
 */
export class DeliveryLog {
  readonly #deliveries = new Map<string, LoggedDelivery>();
  readonly #kinds = new Map<string, string>();
  readonly #atOnce = new Set<string>();

  /** Notes how often a delivery has been handled by now. */
  counted(id: string, runs: number): void {
    if (!isDeliveryId(id)) return;
    const { runs: before = 0, isForged = false } = this.#deliveries.get(id) ?? {};
    this.#deliveries.set(id, { id, runs: Math.max(runs, before), isForged });
  }

  /** Notes that a request with this id was refused, and that no genuine one has the same id. */
  refusedForgery(id: string): void {
    const logged = this.#deliveries.get(id);
    if (logged !== undefined) this.#deliveries.set(id, { ...logged, isForged: true });
  }

  /** Notes which kind of record a delivery is of: its `event_type` or `type`. */
  made(id: string, kind: string | undefined): void {
    if (kind !== undefined) this.#kinds.set(id, kind);
  }

  /** Notes that a delivery had been handled when it was first counted after its answer. */
  countedAtOnce(id: string): void {
    this.#atOnce.add(this.#kinds.get(id) ?? "");
  }

  /** The most likely reason why a delivery was never counted, for the end of a message. */
  whyUnhandled(id: string, { leftOut, handledWithinMs }: OptionNames): string {
    if (this.#atOnce.size === 0)
      return `: a queue that takes longer needs a higher limit in ${handledWithinMs}`;
    const kind = this.#kinds.get(id);
    return kind === undefined || this.#atOnce.has(kind)
      ? ", although others were counted at once"
      : `: the handler does nothing for ${kind}. Is a case missing, or is it left out on purpose? Then name it in ${leftOut}`;
  }

  /** Forgets a delivery whose case has failed. */
  forget(id: string): void {
    this.#deliveries.delete(id);
  }

  /** Returns everything so far, and forgets it. */
  take(): readonly LoggedDelivery[] {
    const all = [...this.#deliveries.values()];
    this.#deliveries.clear();
    return all;
  }
}

/** Finds a 2xx that someone else gave than who acknowledges plain deliveries. */
export class AnswerWatch {
  #plain: AnsweredBy | undefined;

  /** Learns from the answers to plain deliveries. The first 2xx counts. */
  learn(exchanges: readonly ConformanceExchange[]): void {
    for (const { received } of exchanges) {
      if (!("error" in received)) this.#plain ??= answeredBy(received);
    }
  }

  /**
   * What shows that someone else gave this 2xx: it has no outcome where the plain answer had one, or is a page where
   * that was none. Undefined for any other answer.
   */
  strangerIn({ method }: WireRequest, answer: WireAnswer): string | undefined {
    const by = answeredBy(answer);
    if (method !== "POST" || by === undefined || by === "receiver") return undefined;
    const page = by === "page" ? "an HTML page" : undefined;
    const answered = `a 2xx that your receiver did not give: ${answer.status} with`;
    if (this.#plain === "receiver") {
      return `${answered} ${page ?? "no outcome"}, where the answer to a plain delivery names one`;
    }
    if (this.#plain !== "unknown" || page === undefined) return undefined;
    return `${answered} ${page}, where the answer to a plain delivery is none`;
  }
}

/** A shorter secret may be a word that an answer contains anyway, such as "handled". */
const MIN_SECRET_CHARACTERS = 12;
const RECORDED_CHARACTERS = 500;

/** An answer that contained the secret. */
export interface SecretLeak {
  /** The case that sent the request. */
  readonly caseId: string;
  readonly exchange: ConformanceExchange;
}

/** Looks for the secrets in each answer of a run. */
export class SecretWatch {
  readonly #spellings: readonly RegExp[];
  /** Whether it misses a secret, because that is too short to be told from other text. */
  readonly isBlind: boolean;
  #leak: SecretLeak | undefined;

  constructor(secrets: readonly string[]) {
    const long = secrets.filter(({ length }) => length >= MIN_SECRET_CHARACTERS);
    this.#spellings = [...new Set(long)].flatMap(spellingsOf);
    this.isBlind = long.length < secrets.length;
  }

  /** Remembers the first answer that contains the secret. */
  look({ headers, body }: WireAnswer, leak: SecretLeak): void {
    const texts = [body, ...Object.values(headers)];
    if (texts.some((text) => this.#hide(text) !== text)) this.#leak ??= leak;
  }

  /** The first answer that contained the secret, which is then forgotten. */
  take(): SecretLeak | undefined {
    const leak = this.#leak;
    this.#leak = undefined;
    return leak;
  }

  /** An answer for a report: its body is cut, and a repeated secret is hidden. */
  record({ status, headers, body, ms }: WireAnswer) {
    const hidden = Object.entries(headers).map(([name, value]) => [name, this.#hide(value)]);
    return {
      status,
      headers: Object.fromEntries(hidden) as Record<string, string>,
      body: this.#hide(body).slice(0, RECORDED_CHARACTERS),
      ms,
    };
  }

  /** A text for a report, without the secret. */
  #hide(text: string): string {
    return this.#spellings.reduce((shown, one) => shown.replace(one, "[secret]"), text);
  }
}

/** The secret as it is, in hexadecimal, in base64 and as a JSON text. */
function spellingsOf(secret: string): readonly RegExp[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes
    .toString("base64url")
    .replace(/[-_]/g, (one) => (one === "-" ? "[-+]" : `(?:_|${escaped("/")})`));
  return [
    new RegExp(escaped(secret), "g"),
    new RegExp(escaped(JSON.stringify(secret).slice(1, -1)), "g"),
    new RegExp(bytes.toString("hex"), "gi"),
    new RegExp(base64, "g"),
  ];
}

/** The pattern of a text. JSON may escape its slashes. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll("/", "\\\\?/");
}

/** What the cases of one suite share. */
export interface SuiteState {
  /** What all cases have counted. */
  readonly log: DeliveryLog;
  /** Sees every answer of the run, not only of one case. */
  readonly secretWatch: SecretWatch;
  /** The first delivery that was handled: a memory with room for some hundred ids has forgotten it at the end. */
  first?: Delivery;
  /** Knows who answers plain deliveries. */
  readonly answerWatch: AnswerWatch;
  /** Whether the receiver accepts a plain genuine delivery. If not, its refusals prove nothing. */
  readonly acceptsGenuine: () => Promise<boolean>;
}
