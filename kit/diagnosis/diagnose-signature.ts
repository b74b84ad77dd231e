import { checkOption } from "../option-checks.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { beforeRetyping, RETYPED_CLUE } from "./body-readings.js";
import { readCapturedBody } from "./captured-body.js";
import type { CapturedRequest } from "./captured-request.js";
import { expectedAnswer, withRecord, type ExpectedAnswer } from "./expected-answer.js";
import { findingsOf, type Clue, type SignatureFinding } from "./finding.js";
import { givenLinesOf } from "./header-lines.js";
import { exactTexts, readWebhookHeaders, refusedHeaders } from "./header-readings.js";
import { lostBody, rewrittenBody, unexplained } from "./lost-body.js";
import {
  givenSecrets,
  keysOf,
  refusedSecrets,
  secretList,
  type DiagnosedSecret,
} from "./secret-keys.js";
import { searchSignature, type SearchCounts } from "./signature-search.js";
import { HEADERS, readTimestamp } from "../../src/delivery/headers.js";
import { inWords } from "../duration-words.js";

/**
 * Options of `diagnoseSignature`: a captured request, such as `parseCapturedRequest` returns, and a secret.
 *
 * @experimental
 */
export interface DiagnoseSignatureOptions extends Pick<
  CapturedRequest,
  "method" | "otherBodies" | "receivedAt"
> {
  /**
   * Headers in any captured form: `Headers`, a record in any letter case, pairs, entries
   * `{ name, value }`, or Node's `rawHeaders`.
   */
  readonly headers: unknown;
  /** The exact bytes, or a string that is read as UTF-8. Any other value counts as the result of a parser. */
  readonly body: unknown;
  /**
   * The secret or secrets exactly as configured, or those of each webhook type as the receiver takes them.
   * Faulty ones are allowed: finding them is the purpose.
   */
  readonly secret: DiagnosedSecret;
  /** Secrets that may have been used by mistake: an old one, or that of the other webhook type or a test system. */
  readonly otherSecrets?: readonly string[] | undefined;
  /** Time of the capture, as a date or in Unix milliseconds. Default: `receivedAt`, otherwise the current time. */
  readonly now?: Date | number | undefined;
  /** The receiver's option of that name. Milliseconds, from 0 to 604 800 000, default 300 000. */
  readonly timestampToleranceMs?: number | undefined;
  /** The receiver's option of that name. Bytes, from 1 to 268 435 456, default 1 048 576 (1 MiB). */
  readonly maxBodyBytes?: number | undefined;
}

/**
 * Result of `diagnoseSignature`: why a receiver refuses a delivery, or that it accepts it.
 *
 * @experimental
 */
export interface SignatureDiagnosis {
  /**
   * `good`: a receiver with these secrets accepts the delivery as authentic and fresh, its body is a documented
   * record, and there are no findings.
   */
  readonly result: "good" | "bad";
  /** What is wrong and how to fix it, the most certain finding first, and the public test secret last. */
  readonly findings: readonly SignatureFinding[];
  /**
   * Index of the secret that gives the signature, possibly only after the changes in the findings. It counts
   * in `secret`, or in the list of the delivery's type.
   */
  readonly secretIndex?: number;
  /**
   * What a receiver with these secrets and options answers, if the signature matches without a change. Absent for
   * another delivery, and if no receiver can be made with them.
   */
  readonly answer?: ExpectedAnswer;
  /** How many variants were tried. */
  readonly tried: SearchCounts;
}

const OPTION_NAMES = [
  "method",
  "headers",
  "body",
  "otherBodies",
  "receivedAt",
  "secret",
  "otherSecrets",
  "now",
  "timestampToleranceMs",
  "maxBodyBytes",
];
/** As many as a capture has. */
const MAX_OTHER_BODIES = 24;
const TOLERANCE = { fallback: 300_000, min: 0, max: 604_800_000 };

/**
 * Explains why the signature of a captured delivery does not match, or why a receiver refuses the delivery although it
 * matches. It undoes the usual damage to secrets, headers and
 * bodies, one or two changes at a time, until a secret gives exactly the signature. So a proven finding is not
 * a guess. The work is bounded: a body of 1 MB gets some hundred attempts, a small one thousands. A secret of
 * more than 65 536 characters is only tried unchanged.
 *
 * Findings contain codes, our own words, sizes and offsets. They never contain a secret, a signature or a part
 * of the body.
 *
 * Rejects with `ConfigurationError` for an option that cannot work. No headers and no body make it reject.
 *
 * @example
 * const request = parseCapturedRequest(await readFile("request.txt"));
 * const { findings } = await diagnoseSignature({ ...request, secret });
 * for (const { message } of findings) console.log(message);
 * @experimental
 */
export async function diagnoseSignature(
  given: DiagnoseSignatureOptions,
): Promise<SignatureDiagnosis> {
  const options = ownOptions("diagnoseSignature", given, OPTION_NAMES);
  const { method } = options;
  const isMethod = method === undefined || typeof method === "string";
  checkOption(isMethod, "method must be a string, such as POST");
  const otherSecrets = secretList("otherSecrets", options.otherSecrets ?? []);
  const nowMs = Number(options.now ?? options.receivedAt ?? Date.now());
  checkOption(Number.isFinite(nowMs), "now must be a date or Unix time in milliseconds");
  const bounds = { timestampToleranceMs: TOLERANCE, maxBodyBytes: INTEGER_OPTIONS.maxBodyBytes };
  const bounded = (name: keyof typeof bounds): number =>
    integerOption(name, options[name], bounds[name]);
  const timestampToleranceMs = bounded("timestampToleranceMs");
  const maxBodyBytes = bounded("maxBodyBytes");

  const lines = givenLinesOf(options.headers);
  const headers = readWebhookHeaders(lines);
  const type = headers.type.at(-1)?.text;
  const secrets = givenSecrets(options.secret, type);
  const body = readCapturedBody(options.body, lines);
  const { match, counts } = await searchSignature({
    headers,
    keys: keysOf(secrets, otherSecrets),
    body,
    otherBodies: [options.otherBodies ?? []]
      .flat()
      .filter((one: unknown) => one instanceof Uint8Array)
      .slice(0, MAX_OTHER_BODIES),
  });

  const timestamp = match?.timestamp ?? headers.timestamp.at(-1)?.text ?? "";
  const skewed = skewClues(timestamp, nowMs, timestampToleranceMs);
  const refused: Clue[] = [];
  if ((method ?? "POST").toUpperCase() !== "POST") {
    refused.push({ code: "method_not_post", message: "The method of the request is not POST." });
  }
  // The captured body may be longer than the real one, for example in base64.
  const { length: capturedBytes } = match?.body ?? body.bytes;
  if (capturedBytes > maxBodyBytes) {
    const message = `The body has ${capturedBytes} bytes, and the receiver accepts at most ${maxBodyBytes}.`;
    refused.push({ code: "body_too_large", capturedBytes, message });
  }
  refused.push(...refusedHeaders(headers), ...refusedSecrets(secrets.own));
  if (match === undefined) {
    const before = beforeRetyping(body);
    if (before) refused.push(RETYPED_CLUE);
    const judged = before ?? body;
    const findings = [
      ...findingsOf([...refused, ...lostBody(judged)], "seen"),
      ...findingsOf(rewrittenBody(judged), "possible"),
      ...unexplained(headers, judged, counts),
      ...findingsOf(skewed, "possible"),
    ];
    return { result: "bad", findings, tried: counts };
  }
  const { proven, seen } = withRecord(match, type);
  // The public test secret comes last: it proves who signed, and each other finding says what to fix.
  const rankOf = ({ code }: SignatureFinding): number => Number(code === "test_secret");
  const factsOf = ({ code, header, secretIndex }: Clue) => {
    return [code, header ?? code, secretIndex ?? code];
  };
  const named = new Set(match.clues.flatMap(factsOf));
  const unnamed = refused.filter((clue) => !factsOf(clue).some((fact) => named.has(fact)));
  const findings = [
    ...findingsOf(proven, "proven"),
    ...findingsOf([...unnamed, ...skewed, ...seen], "seen"),
  ].sort((one, other) => rankOf(one) - rankOf(other));
  const { clues, secretIndex } = match;
  const isAsCaptured = clues.length === 0 && refusedHeaders(headers).length === 0;
  const request = { method, headers: exactTexts(headers), body: match.body };
  const receiver = { secret: [...secrets.own], timestampToleranceMs, maxBodyBytes };
  const answer = isAsCaptured ? await expectedAnswer(request, nowMs, receiver) : undefined;
  return {
    result: findings.length === 0 ? "good" : "bad",
    findings,
    ...(answer && { answer }),
    ...(secretIndex === undefined ? {} : { secretIndex }),
    tried: counts,
  };
}

const HALF_HOUR_MS = 1_800_000;
/** A skew this close to a multiple of half an hour looks like a time zone; no zone goes further than this. */
const ZONE_SLACK_MS = 120_000;
const MAX_ZONE_MS = 14 * 3_600_000;

/**
 * The clue for a timestamp outside the tolerance, or none. A timestamp that only makes sense in
 * milliseconds is read as milliseconds.
 */
export function skewClues(timestamp: string, nowMs: number, toleranceMs: number): readonly Clue[] {
  const text = timestamp.trim();
  if (!/^[0-9]{1,15}$/.test(text)) return [];
  const timestampMs = text.length > 12 ? Number(text) : readTimestamp(text);
  const skewMs = timestampMs - nowMs;
  if (Math.abs(skewMs) <= toleranceMs) return [];
  const direction = skewMs < 0 ? "behind" : "ahead of";
  const zone = looksLikeZone(skewMs)
    ? " Such a round difference may mean that a local time was read as UTC."
    : "";
  return [
    {
      code: skewMs < 0 ? "timestamp_behind" : "timestamp_ahead",
      header: HEADERS.timestamp.name,
      skewMs,
      message: `The timestamp is ${inWords(skewMs)} ${direction} the clock, and ${inWords(toleranceMs)} are allowed.${zone}`,
    },
  ];
}

function looksLikeZone(skewMs: number): boolean {
  const size = Math.abs(skewMs);
  const rest = size % HALF_HOUR_MS;
  const isRound = Math.min(rest, HALF_HOUR_MS - rest) <= ZONE_SLACK_MS;
  return isRound && size >= HALF_HOUR_MS - ZONE_SLACK_MS && size <= MAX_ZONE_MS + ZONE_SLACK_MS;
}
