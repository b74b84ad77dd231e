import { checkOption } from "../option-checks.js";
import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import { INTEGER_OPTIONS } from "../../src/options/options.js";
import { readCapturedBody } from "./captured-body.js";
import type { CapturedRequest } from "./captured-request.js";
import { skewClues } from "./clock-skew.js";
import { expectedAnswer, type ExpectedAnswer } from "./expected-answer.js";
import { findingsOf, type Clue, type SignatureFinding } from "./finding.js";
import { givenSecrets, secretList, type DiagnosedSecret } from "./given-secrets.js";
import { givenLinesOf, textLines } from "./header-lines.js";
import { givenKeys, otherKeys } from "./key-readings.js";
import { longSecrets, refusedSecrets } from "./secret-clues.js";
import { movedPrefixes } from "./moved-timestamps.js";
import { readMacs } from "./mac-readings.js";
import { refusedHeaders, refusedRequest } from "./receiver-refusals.js";
import { searchSignature, type SearchCounts } from "./signature-search.js";
import { documentedPrefixes, otherPrefixes } from "./signed-prefixes.js";
import { rewrittenBody, spoiledBody } from "./body-damage.js";
import { withRecord } from "./signed-record.js";
import { unexplained } from "./unexplained.js";
import { exactTexts, readWebhookHeaders } from "./webhook-header-texts.js";

/**
 * Options of `diagnoseSignature`: a captured request, such as `parseCapturedRequest` returns, and a secret.
 *
 * @experimental
 */
export interface DiagnoseSignatureOptions extends Pick<CapturedRequest, "method" | "receivedAt"> {
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
  "receivedAt",
  "secret",
  "otherSecrets",
  "now",
  "timestampToleranceMs",
  "maxBodyBytes",
];
const TOLERANCE = { fallback: 300_000, min: 0, max: 604_800_000 };

/**
 * Explains why the signature of a captured delivery does not match (the gateway's document, section "Authentication",
 * rule 7), or
 * why a receiver refuses the delivery although it matches. It undoes the usual damage to secrets, headers and
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
  const others = secretList("otherSecrets", options.otherSecrets ?? []);
  const nowMs = millisecondsOfNow(options.now ?? options.receivedAt ?? Date.now());
  const bounds = { timestampToleranceMs: TOLERANCE, maxBodyBytes: INTEGER_OPTIONS.maxBodyBytes };
  const bounded = (name: keyof typeof bounds): number =>
    integerOption(name, options[name], bounds[name]);
  const toleranceMs = bounded("timestampToleranceMs");
  const maxBodyBytes = bounded("maxBodyBytes");
  const method = checkMethod(options.method);

  const lines = givenLinesOf(options.headers);
  const headers = readWebhookHeaders(lines);
  const type = headers["X-Webhook-Type"].at(-1)?.text;
  const { own: secrets, ofOtherTypes } = givenSecrets(options.secret, type);
  const body = readCapturedBody(options.body, textLines(lines));
  const { match, counts } = await searchSignature({
    macs: readMacs(headers["X-Webhook-Signature"]),
    keys: { given: givenKeys(secrets), other: otherKeys(secrets, others, ofOtherTypes) },
    prefixes: {
      given: documentedPrefixes(headers),
      other: otherPrefixes(headers),
      moved: movedPrefixes(headers),
    },
    body,
  });

  // The captured body may be longer than the real one, for example in base64.
  const bodyBytes = (match?.body ?? body.bytes).length;
  const refused = [
    ...refusedRequest(method, bodyBytes, maxBodyBytes),
    ...refusedHeaders(headers),
    ...refusedSecrets(secrets),
  ];
  const timestamp = match?.timestamp ?? headers["X-Webhook-Timestamp"].at(-1)?.text ?? "";
  const skewed = skewClues(timestamp, nowMs, toleranceMs);
  const { proven, seen } = await withRecord(match, type);
  const findings =
    match === undefined
      ? [
          ...findingsOf([...refused, ...spoiledBody(body)], "seen"),
          ...findingsOf([...rewrittenBody(body), ...longSecrets(secrets)], "possible"),
          ...unexplained(headers, body, counts),
          ...findingsOf(skewed, "possible"),
        ]
      : inOrder([
          ...findingsOf(proven, "proven"),
          ...findingsOf([...unnamed(refused, match.clues), ...skewed, ...seen], "seen"),
        ]);
  const answer =
    match?.clues.length === 0 && refusedHeaders(headers).length === 0
      ? await expectedAnswer({
          request: { method, headers: exactTexts(headers), body: match.body },
          secrets,
          nowMs,
          timestampToleranceMs: toleranceMs,
          maxBodyBytes,
        })
      : undefined;
  return {
    result: match !== undefined && findings.length === 0 ? "good" : "bad",
    findings,
    ...(answer === undefined ? {} : { answer }),
    ...(match?.secretIndex === undefined ? {} : { secretIndex: match.secretIndex }),
    tried: counts,
  };
}

/** The public test secret comes last: it proves who signed, and each other finding says what to fix. */
function inOrder(findings: readonly SignatureFinding[]): readonly SignatureFinding[] {
  const isLast = ({ code }: SignatureFinding): boolean => code === "test_secret";
  return [...findings.filter((one) => !isLast(one)), ...findings.filter(isLast)];
}

/** The clues about facts that the match has not named already. */
function unnamed(clues: readonly Clue[], named: readonly Clue[]): readonly Clue[] {
  const isNamed = ({ code, header, secretIndex }: Clue): boolean =>
    named.some(
      (other) =>
        (header !== undefined && other.header === header) ||
        (secretIndex !== undefined && other.secretIndex === secretIndex) ||
        other.code === code,
    );
  return clues.filter((clue) => !isNamed(clue));
}

function checkMethod(method: unknown): string | undefined {
  const isMethod = method === undefined || typeof method === "string";
  checkOption(isMethod, "method must be a string, such as POST");
  return method;
}

function millisecondsOfNow(now: unknown): number {
  const ms = now instanceof Date ? now.getTime() : now;
  const isTime = typeof ms === "number" && Number.isFinite(ms);
  checkOption(isTime, "now must be a date or Unix time in milliseconds");
  return ms;
}
