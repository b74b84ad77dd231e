import { decode } from "../../src/records/decode.js";
import { OUTCOMES } from "../../src/answer/outcome.js";
import { usualCauses } from "../../src/answer/outcome-causes.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import type { SignatureFinding } from "../../kit/diagnosis/finding.js";
import { textOfUtf8 } from "../../kit/json-parts.js";
import type { Intake } from "./delivery-intake.js";
import type { Forwarded } from "./forwarder.js";
import type { Verification } from "./verifying-receiver.js";
import { printableLine } from "../terminal/printable.js";

/** The entry of `listen` for one request. Without `body` it holds no personal data. */
export interface DeliveryEntry {
  readonly at: string;
  /** The receiver's outcome. With an app behind: `authentic`, or `unverified` without a secret. */
  readonly outcome: string;
  /** HTTP status of the answer: the app's, if the request was forwarded. */
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
  /** X-Webhook-Id and X-Webhook-Type, if the signature is good. */
  readonly id?: string;
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
  /** Only with `--show-body`. `bodyBase64` if it is not UTF-8. */
  readonly body?: string;
  readonly bodyBase64?: string;
}

/** Outcomes with a cause in the headers, the secret or the bytes. */
const DIAGNOSED = new Set(["malformed", "unsigned", "signature_mismatch", "stale"]);

/** Outcomes of a good delivery. The app decides what to do with a duplicate. */
const GOOD = new Set<string>(["handled", "duplicate", "in_flight"]);

/** Options of `entryOf`. */
export interface EntryOptions {
  /** Empty: unsigned deliveries are accepted. */
  readonly secrets: readonly string[];
  /** The largest body that is read. */
  readonly maxBodyBytes: number;
  /** Whether to search for the cause when a request is not authentic. */
  readonly isDiagnosed: boolean;
  readonly showsBody: boolean;
}

/** Makes the entry of a request. Never rejects. */
export async function entryOf(
  intake: Intake,
  { secrets, maxBodyBytes, isDiagnosed, showsBody }: EntryOptions,
): Promise<DeliveryEntry> {
  const { at, body, bytes, verification, forwarded, status, durationMs } = intake;
  const { outcome } = verification.response;
  const isSearched = isDiagnosed && DIAGNOSED.has(outcome);
  return {
    at: at.toISOString(),
    outcome: forwarded && GOOD.has(outcome) ? goodForApp(secrets) : outcome,
    status,
    bytes,
    durationMs: Number(durationMs.toFixed(1)),
    ...idOf(verification),
    reasons: forwarded && GOOD.has(outcome) ? [] : await reasonsOf(intake, isSearched),
    findings: isSearched ? await findingsOf(intake, secrets, maxBodyBytes) : [],
    ...(forwarded && { forwarded: forwardedOf(forwarded) }),
    ...(showsBody && body !== undefined ? bodyFields(body) : {}),
  };
}

/** Only these two fields: an authentic delivery also holds its body. */
function idOf({ authentic }: Verification): Pick<DeliveryEntry, "id" | "type"> {
  return authentic === undefined ? {} : { id: authentic.id, type: authentic.type };
}

/** With an app behind, the delivery is not handled here: the app's answer has its own outcome. */
function goodForApp(secrets: readonly string[]): string {
  return secrets.length > 0 ? "authentic" : "unverified";
}

async function findingsOf(
  { at, lines, body }: Intake,
  secrets: readonly string[],
  maxBodyBytes: number,
): Promise<DeliveryEntry["findings"]> {
  const { findings } = await diagnoseSignature({
    headers: lines,
    body,
    secret: secrets,
    maxBodyBytes,
    now: at.getTime(),
  });
  return findings.map(({ code, certainty, message, fix }) => ({ code, certainty, message, fix }));
}

/** The reasons, with the usual causes unless the cause itself was searched for. */
async function reasonsOf(
  { verification: { response, authentic }, body }: Intake,
  isSearched: boolean,
): Promise<readonly string[]> {
  const { outcome } = response;
  const { status, message } = OUTCOMES[outcome];
  if (status === 200) return [];
  const decoded =
    outcome === "unrecognized" && body && authentic
      ? await decode(body, authentic.type)
      : undefined;
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
  return { status, ...(outcome === undefined ? {} : { outcome: printableLine(outcome, 40) }), ms };
}

function bodyFields(body: Uint8Array): { body: string } | { bodyBase64: string } {
  const text = textOfUtf8(body);
  return text === undefined ? { bodyBase64: Buffer.from(body).toString("base64") } : { body: text };
}
