import { decode } from "../../src/records/decode.js";
import { OUTCOMES, type WebhookOutcome } from "../../src/answer/outcome.js";
import { usualCauses } from "../../src/answer/outcome-causes.js";
import { differenceOf } from "../diagnosis/body-readings.js";
import type { DiagnosedSecret } from "../diagnosis/secret-keys.js";
import { diagnoseSignature } from "../diagnosis/diagnose-signature.js";
import type { SignatureFinding } from "../diagnosis/finding.js";
import type { Intake, IntakeOptions } from "./delivery-intake.js";
import type { Forwarded } from "./forwarder.js";

/**
 * What became of one request. It holds no personal data.
 *
 * @experimental
 */
export interface DeliveryEntry {
  /** Time of arrival, in ISO 8601. */
  readonly at: string;
  /**
   * The receiver's outcome. With an app behind: `authentic`, or `unverified` without a secret.
   * `failed_on_request` if `failNext` decided the answer.
   */
  readonly outcome: string;
  /** HTTP status of the answer: the app's, if the request was forwarded. 0 if the connection was closed without one. */
  readonly status: number;
  /** Bytes of the body. */
  readonly bytes: number;
  /** Milliseconds from the request to the answer. */
  readonly durationMs: number;
  /** X-Webhook-Id, if the signature is good. */
  readonly id?: string;
  /** X-Webhook-Type, if the signature is good. */
  readonly type?: string;
  /** Why the request was not handled. */
  readonly reasons: readonly string[];
  /** Why it is not authentic. */
  readonly findings: readonly Pick<SignatureFinding, "code" | "certainty" | "message" | "fix">[];
  /** The app's answer, or the reason why there is none. */
  readonly forwarded?: {
    readonly status?: number;
    readonly outcome?: string;
    readonly error?: string;
    readonly ms: number;
  };
}

/** The bytes of a body that differ from what was signed. */
export interface DifferingBytes {
  readonly offset: number;
  readonly length: number;
}

/** Outcomes with a cause in the headers, the secret or the bytes. */
const DIAGNOSED = new Set(["malformed", "unsigned", "signature_mismatch", "stale"]);

/** Outcomes of a good delivery. The app decides what to do with a duplicate. */
const GOOD = new Set<string>(["handled", "duplicate", "in_flight"]);

type Options = Pick<IntakeOptions, "secret" | "maxBodyBytes">;

/** Makes the entry of a request. `isDiagnosed`: whether to search for the cause if it is not authentic. Never rejects. */
export async function entryOf(
  intake: Intake,
  { secret, maxBodyBytes, isDiagnosed }: Options & { readonly isDiagnosed: boolean },
): Promise<{ readonly entry: DeliveryEntry; readonly differs: DifferingBytes | undefined }> {
  const { at, bytes, verification, forwarded, fails, answer, durationMs } = intake;
  const { response, authentic } = verification;
  const isSearched = isDiagnosed && DIAGNOSED.has(response.outcome);
  const isGoodForApp = forwarded !== undefined && GOOD.has(response.outcome);
  const found = isSearched ? await findingsOf(intake, secret ?? [], maxBodyBytes) : [];
  // With an app behind, the delivery is not handled here: the app's answer has its own outcome.
  const good = secret === undefined ? "unverified" : "authentic";
  const outcome = isGoodForApp ? good : response.outcome;
  const entry = {
    at: at.toISOString(),
    outcome: fails ? "failed_on_request" : outcome,
    status: answer?.status ?? 0,
    bytes,
    durationMs: Number(durationMs.toFixed(1)),
    // Only these two fields: an authentic delivery also holds its body.
    ...(authentic === undefined ? {} : { id: authentic.id, type: authentic.type }),
    reasons: fails ? [] : isGoodForApp ? appReasons(forwarded) : reasonsOf(intake, isSearched),
    findings: found.map(({ code, certainty, message, fix }) => ({ code, certainty, message, fix })),
    ...(forwarded && { forwarded: forwardedOf(forwarded) }),
  };
  return { entry, differs: differingBytes(intake, found) };
}

async function findingsOf(
  { at, method, lines, body }: Intake,
  secret: DiagnosedSecret,
  maxBodyBytes: number,
): Promise<readonly SignatureFinding[]> {
  const now = at.getTime();
  const request = { method, headers: lines, body, secret, maxBodyBytes, now };
  return (await diagnoseSignature(request)).findings;
}

/** What the diagnosis found, or the change that was made here without a new signature. */
function differingBytes(
  { body, originalBody, verification }: Intake,
  findings: readonly SignatureFinding[],
): DifferingBytes | undefined {
  const isEdited = body && originalBody && verification.authentic === undefined;
  const { offsetBytes: offset, differingBytes: length = 1 } = isEdited
    ? differenceOf(body, originalBody)
    : (findings.find(({ offsetBytes }) => offsetBytes !== undefined) ?? {});
  return offset === undefined ? undefined : { offset, length };
}

/** Why the app refuses what is good here, if its answer names an outcome of this library. */
function appReasons(forwarded: Forwarded): readonly string[] {
  const name = "error" in forwarded ? undefined : forwarded.outcome;
  if (name === undefined || !isOutcome(name) || OUTCOMES[name].status === 200) return [];
  const said = `your app answered ${name}: ${OUTCOMES[name].message}`;
  return [said, usualCauses(name)].filter((text) => text !== "");
}

function isOutcome(name: string): name is WebhookOutcome {
  return Object.hasOwn(OUTCOMES, name);
}

/** The reasons, with the usual causes unless the cause itself was searched for. */
function reasonsOf({ verification: { response, authentic }, body }: Intake, isSearched: boolean) {
  const { outcome, status } = response;
  if (status < 300) return [];
  const { message } = (JSON.parse(response.body) as { error: { message: string } }).error;
  const decoded =
    outcome === "unrecognized" && body && authentic ? decode(body, authentic.type) : undefined;
  const issues = decoded?.kind === "unrecognized" ? decoded.issues : [];
  const causes = isSearched ? "" : usualCauses(outcome);
  return [message, ...issues.map(issueLine), ...(causes === "" ? [] : [causes])];
}

/** Safe to show: a path only names fields of the schema. */
function issueLine({ path, message }: { path: readonly (string | number)[]; message: string }) {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}

function forwardedOf(forwarded: Forwarded): NonNullable<DeliveryEntry["forwarded"]> {
  const ms = Number(forwarded.ms.toFixed(1));
  if ("error" in forwarded) return { error: forwarded.error, ms };
  const { status, outcome } = forwarded;
  return { status, ...(outcome === undefined ? {} : { outcome: outcome.slice(0, 40) }), ms };
}
