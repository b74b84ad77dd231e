import type { WireAnswer } from "../sending/wire.js";
import type { ConformanceExchange } from "./conformance-case.js";

/** A shorter secret may be a word that an answer contains anyway, such as "handled". */
const MIN_SECRET_CHARACTERS = 12;
const RECORDED_CHARACTERS = 500;

/** An answer that contained the secret. */
export interface SecretLeak {
  /** The case that sent the request. */
  readonly caseId: string;
  readonly exchange: ConformanceExchange;
}

/** Looks for the secret in each answer of a run. */
export class SecretWatch {
  readonly #spellings: readonly RegExp[];
  #leak: SecretLeak | undefined;

  constructor(secret: string) {
    this.#spellings = secret.length < MIN_SECRET_CHARACTERS ? [] : spellingsOf(secret);
  }

  /** Whether it finds nothing, because the secret is too short to be told from other text. */
  get isBlind(): boolean {
    return this.#spellings.length === 0;
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
