import { decode } from "../../records/decode.js";
import { OUTCOMES } from "../../answer/outcome.js";
import { usualCauses } from "../../answer/outcome-help.js";
import { diagnoseSignature } from "../../testing/diagnosis/diagnose-signature.js";
import type { Finding } from "../../testing/diagnosis/finding.js";
import type { Intake } from "./delivery-intake.js";
import type { Forwarded } from "./forwarder.js";
import type { Judgement } from "./judging-receiver.js";
import { printableLine } from "../terminal/printable.js";

/** What `listen` says of one request. Without `body` there is nothing personal in it. */
export interface DeliveryEntry {
  readonly at: string;
  /** What the receiver made of it; in front of an app `authentic`, or `unverified` without a secret. */
  readonly outcome: string;
  /** HTTP status that was answered: the app's, where it is forwarded. */
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
  /** X-Webhook-Id and X-Webhook-Type, once the signature is good. */
  readonly id?: string;
  readonly type?: string;
  /** What is wrong, where the request was not handled. */
  readonly reasons: readonly string[];
  /** Why it is not authentic. */
  readonly findings: readonly Pick<Finding, "code" | "certainty" | "message" | "mend">[];
  /** What the app answered, or why it did not. */
  readonly forwarded?: {
    readonly status?: number;
    readonly outcome?: string;
    readonly error?: string;
    readonly ms: number;
  };
  /** With `--show-body` alone; in base64 where it is no UTF-8. */
  readonly body?: string;
  readonly bodyBase64?: string;
}

/** Outcomes whose cause is in the headers, the secret or the bytes. */
const DIAGNOSED = new Set(["malformed", "unsigned", "signature_mismatch", "stale"]);

/** Outcomes of a delivery with which nothing is wrong; be it a copy, of which the app decides. */
const GOOD = new Set<string>(["handled", "duplicate", "in_flight"]);

/** How an entry is made. */
export interface EntryOptions {
  /** None: unsigned deliveries are accepted. */
  readonly secrets: readonly string[];
  /** The largest body that is read. */
  readonly maxBodyBytes: number;
  /** Whether the cause is looked for where a request is not authentic. */
  readonly isDiagnosed: boolean;
  readonly showsBody: boolean;
}

/** Makes the entry of a request. Never rejects. */
export async function entryOf(
  intake: Intake,
  { secrets, maxBodyBytes, isDiagnosed, showsBody }: EntryOptions,
): Promise<DeliveryEntry> {
  const { at, body, bytes, judgement, forwarded, status, durationMs } = intake;
  const { outcome } = judgement.response;
  const isSearched = isDiagnosed && DIAGNOSED.has(outcome);
  return {
    at: at.toISOString(),
    outcome: forwarded && GOOD.has(outcome) ? goodForApp(secrets) : outcome,
    status,
    bytes,
    durationMs: Number(durationMs.toFixed(1)),
    ...idOf(judgement),
    reasons: forwarded && GOOD.has(outcome) ? [] : await reasonsOf(intake, isSearched),
    findings: isSearched ? await findingsOf(intake, secrets, maxBodyBytes) : [],
    ...(forwarded && { forwarded: forwardedOf(forwarded) }),
    ...(showsBody && body !== undefined ? bodyFields(body) : {}),
  };
}

/** Only these two: the rest of an authentic delivery is its body. */
function idOf({ authentic }: Judgement): Pick<DeliveryEntry, "id" | "type"> {
  return authentic === undefined ? {} : { id: authentic.id, type: authentic.type };
}

/** Nothing is handled here where an app stands behind: its answer says what it made of it. */
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
  return findings.map(({ code, certainty, message, mend }) => ({ code, certainty, message, mend }));
}

/** With the usual causes, unless the cause itself has been looked for. */
async function reasonsOf(
  { judgement: { response, authentic }, body }: Intake,
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

/** A path names fields, of which only those of the schema can be at fault. */
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
  try {
    return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { bodyBase64: Buffer.from(body).toString("base64") };
  }
}
