import { backend } from "#crypto";
import { PROBE_ID_PREFIX } from "../answer/trace.js";
import { invalidOption } from "../common/errors.js";
import { lowerCaseHeaders } from "../delivery/header-values.js";
import type { WebhookType } from "../delivery/headers.js";
import { signDelivery } from "../signature/sign-delivery.js";
import { httpUrlOf, timeoutOption, type FetchFunction } from "./call-settings.js";
import { readAnswerBody } from "./answer-body.js";

/**
 * Makes a secret: 32 random bytes as 64 hexadecimal digits.
 *
 * @experimental
 */
export function createWebhookSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Options of everything that probes a receiver.
 *
 * @experimental
 */
export interface ProbeOptions {
  /** How long one probe waits for its answer. Milliseconds, from 1 to 2 147 483 647, default 15 000. */
  readonly timeoutMs?: number | undefined;
  /** The response header in which the receiver, or the proxy in front of it, names the instance. Default none. */
  readonly instanceHeader?: string | undefined;
  /** Makes the requests. Default the global `fetch`. */
  readonly fetch?: FetchFunction | undefined;
  /** Unix time in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Ends the probes when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** The names of `ProbeOptions`. */
export const PROBE_OPTION_NAMES = [
  "timeoutMs",
  "instanceHeader",
  "fetch",
  "now",
  "signal",
] as const;

/**
 * What one probe found.
 *
 * @experimental
 */
export interface ProbeAnswer {
  /**
   * - `accepted`: the receiver knows the secret.
   * - `refused`: it does not.
   * - `unclear`: the answer tells neither, for example that of another program or of a proxy.
   * - `unreachable`: no answer.
   */
  readonly result: "accepted" | "refused" | "unclear" | "unreachable";
  /** HTTP status of the answer. */
  readonly status?: number;
  /** The outcome in the answer, if it names one. */
  readonly outcome?: string;
  /** The instance that answered, if it names itself. */
  readonly instance?: string;
}

const HOUR_MS = 3_600_000;
/** Answers of a receiver that has verified the signature and goes no further. */
const ACCEPTED = ["stale", "type_mismatch"];
/** Of those and of names such as these only the grammar is trusted: the answer is foreign text. */
const OUTCOME = /^[a-z][a-z_]{0,63}$/;

/**
 * Asks a receiver whether it accepts a secret, without running anything there: the signature is good, but the
 * timestamp is an hour old, so a receiver of this library answers `STALE` if it knows the secret, and
 * `SIGNATURE_MISMATCH` if not. The body contradicts the type, so a receiver that tolerates the timestamp answers
 * `TYPE_MISMATCH`. No handler runs, nothing is claimed, and the receiver neither logs nor counts an accepted probe. A
 * refused one is a `signature_mismatch` like any other.
 *
 * Never rejects for an answer of any kind. Rejects with a `ConfigurationError` for an unusable secret or URL.
 *
 * @experimental
 */
export async function probeReceiver(
  url: string,
  { secret, type }: { readonly secret: string; readonly type: WebhookType },
  options: ProbeOptions = {},
): Promise<ProbeAnswer> {
  const { now = Date.now } = options;
  const id = PROBE_ID_PREFIX + backend.randomUuid();
  const timestamp = Math.floor((now() - HOUR_MS) / 1000);
  const body = type === "new_alarm" ? '{"event":{}}' : '{"alarm":{}}';
  const signature = await signDelivery({ secret, id, timestamp, body });
  const answer = await request(url, options, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...lowerCaseHeaders({ type, id, timestamp: String(timestamp), signature }),
    },
    body,
  });
  if (answer === undefined) return { result: "unreachable" };
  const { outcome } = answer;
  if (outcome !== undefined && ACCEPTED.includes(outcome)) return { ...answer, result: "accepted" };
  return { ...answer, result: outcome === "signature_mismatch" ? "refused" : "unclear" };
}

/**
 * Whether a URL answers a GET, as the gateway requires at registration. The status of the answer; undefined if there
 * is none.
 */
export async function statusOfGet(
  url: string,
  options: ProbeOptions = {},
): Promise<number | undefined> {
  return (await request(url, options, { method: "GET" }))?.status;
}

interface ProbeRequest {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Makes one request. Undefined if no answer arrives. */
async function request(
  given: string,
  { timeoutMs, instanceHeader, fetch = globalThis.fetch, signal }: ProbeOptions,
  { headers: sent = {}, ...init }: ProbeRequest,
): Promise<Omit<ProbeAnswer, "result"> | undefined> {
  const url = httpUrlOf("url", given);
  if (instanceHeader !== undefined && !/^[\w-]+$/.test(instanceHeader)) {
    throw invalidOption("instanceHeader must be the name of a header");
  }
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutOption(timeoutMs));
  try {
    const response = await fetch(url.href, {
      ...init,
      // A kept connection leads to the same replica each time.
      headers: { ...sent, connection: "close" },
      redirect: "manual",
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    });
    const { status, headers } = response;
    const read = await readAnswerBody(response);
    const outcome = read.kind === "json" ? outcomeOf(read.value) : undefined;
    const instance = instanceHeader === undefined ? null : headers.get(instanceHeader);
    return {
      status,
      ...(outcome === undefined ? {} : { outcome }),
      ...(instance === null ? {} : { instance: instance.slice(0, 128) }),
    };
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** The outcome in the answer of a receiver: `{ outcome }`, or the code of the error in lower case. */
function outcomeOf(body: unknown): string | undefined {
  const { outcome, error } = Object(body) as Record<string, unknown>;
  const { code } = Object(error) as Record<string, unknown>;
  const name = typeof outcome === "string" ? outcome : code;
  const lower = typeof name === "string" ? name.toLowerCase() : "";
  return OUTCOME.test(lower) ? lower : undefined;
}
