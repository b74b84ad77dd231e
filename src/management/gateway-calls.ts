import { pause } from "../common/timers.js";
import { readAnswerBody, type AnswerBody } from "./answer-body.js";
import {
  codeOfStatus,
  readGatewayError,
  shownError,
  type GatewayErrorBody,
} from "./gateway-errors.js";
import { ManagementError } from "./management-error.js";
import type { CallSettings } from "./call-settings.js";
import type { TokenSource } from "./token-source.js";

export const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
/** The methods of the gateway's routes. */
export type HttpMethod = (typeof HTTP_METHODS)[number];

/** One call of a route. */
interface GatewayCall {
  readonly method: HttpMethod;
  /** The path below the base URL, or a full URL of the same origin. */
  readonly path: string;
  /** What errors call it. Default its path without the query. */
  readonly name?: string;
  readonly body?: object | undefined;
  /** What no error may show in any spelling. If given, errors show no text of the answer, also if it is empty. */
  readonly secrets?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A 2xx answer. */
interface GoodAnswer {
  /** The JSON; undefined if the answer is empty. */
  readonly value: unknown;
  readonly headers: Headers;
}

/** Calls the gateway: with the token, within the time-out, again where that is safe. */
export class GatewayCalls {
  readonly #settings: CallSettings;
  readonly #token: TokenSource | undefined;

  constructor(settings: CallSettings, token?: TokenSource) {
    this.#settings = settings;
    this.#token = token;
  }

  /** The JSON of a 2xx answer; undefined if it is empty. Rejects with a `ManagementError`. */
  async call(call: GatewayCall): Promise<unknown> {
    return (await this.answer(call)).value;
  }

  /** The same with the headers of the answer. */
  async answer(call: GatewayCall): Promise<GoodAnswer> {
    const { maxRetries } = this.#settings;
    const signals = [call.signal, this.#settings.signal].filter((signal) => signal !== undefined);
    const signal = AbortSignal.any(signals);
    let mayRenew = true;
    for (let retries = 0; ; retries++) {
      if (signal.aborted) throw new ManagementError("aborted", `${call.method} was aborted`);
      const token = await this.#token?.current();
      const result = await this.#attempt(call, token, signal);
      if (!(result instanceof ManagementError)) return result;
      if (result.code === "unauthorized" && mayRenew && token !== undefined) {
        mayRenew = false;
        if (await this.#token?.renew(token)) {
          retries -= 1;
          continue;
        }
      }
      const delayMs = retryDelayMs(call.method, result, retries, this.#settings);
      if (delayMs === undefined || retries >= maxRetries) throw result;
      await pause(delayMs, signal);
    }
  }

  /** Makes one request. Resolves to what it returned, or to its error. */
  async #attempt(
    call: GatewayCall,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<GoodAnswer | ManagementError> {
    const { method, path } = call;
    const { timeoutMs } = this.#settings;
    // Without its query: a page may be named by a token.
    const what = `${method} ${call.name ?? path.replace(/\?.*$/s, "")}`;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    try {
      const response = await this.#send(call, token, AbortSignal.any([signal, timeout.signal]));
      const body = await readAnswerBody(response);
      return valueOrError(what, response, body, (read) => shownError(read, call, token));
    } catch (error) {
      if (signal.aborted) return new ManagementError("aborted", `${what} was aborted`);
      if (timeout.signal.aborted) {
        return new ManagementError("timeout", `${what}: no answer within ${String(timeoutMs)} ms`);
      }
      return new ManagementError("network", `${what}: ${networkReason(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  #send(
    { method, path, body }: GatewayCall,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const { baseUrl, apiVersion, fetch } = this.#settings;
    return fetch(new URL(path, baseUrl).href, {
      method,
      headers: {
        accept: "application/json",
        ...(apiVersion === undefined ? {} : { "x-api-version": apiVersion }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // Another host must not get the token, and a POST that becomes a GET creates nothing.
      redirect: "manual",
      signal,
    });
  }
}

function valueOrError(
  what: string,
  { status, headers }: Response,
  body: AnswerBody,
  show: (read: GatewayErrorBody) => GatewayErrorBody,
): GoodAnswer | ManagementError {
  const retryAfterMs = retryAfterMsOf(headers.get("retry-after"));
  if (status >= 200 && status <= 299) {
    if (body.kind === "json") return { value: body.value, headers };
    if (body.kind === "empty") return { value: undefined, headers };
    if (body.kind === "no_json") return notTheApi(what, status);
    return unexpected(`${what} was answered ${String(status)} with more than 64 MiB`, status);
  }
  if (status >= 300 && status <= 399) {
    return unexpected(`${what} was redirected (${String(status)}): correct baseUrl`, status);
  }
  // The gateway's own errors are JSON. With these statuses, text is of a wrong address, a login page or a firewall.
  if (body.kind === "no_json" && [400, 403, 404, 422].includes(status)) {
    return notTheApi(what, status);
  }
  const read = readGatewayError(body.kind === "json" ? body.value : undefined);
  const { code: gatewayCode, message: text, details } = show(read);
  const said = [text, ...details.map(describeDetail)].filter((one) => one !== undefined);
  const message = [
    `${what} was answered ${String(status)}`,
    gatewayCode === undefined ? "" : ` ${gatewayCode}`,
    said.length === 0 ? "" : `: ${said.join("; ")}`,
    retryAfterMs === undefined ? "" : `; try again in ${String(Math.ceil(retryAfterMs / 1000))} s`,
  ].join("");
  const code = codeOfStatus(status, read, retryAfterMs !== undefined);
  return new ManagementError(code, message, { status, gatewayCode, details, retryAfterMs });
}

function notTheApi(what: string, status: number): ManagementError {
  return unexpected(
    `${what} was answered ${String(status)} with no JSON, which does not look like the gateway's API: correct baseUrl, or look for a proxy or firewall in between`,
    status,
  );
}

function unexpected(message: string, status: number): ManagementError {
  return new ManagementError("unexpected_answer", message, { status });
}

function describeDetail({ field, issue }: { field: string; issue: string }): string {
  return field === "" ? issue : `${field}: ${issue}`;
}

/** Only codes such as ECONNREFUSED: the message of a foreign error may quote headers. */
function networkReason(error: unknown): string {
  const { code, cause } = Object(error) as Record<string, unknown>;
  const inner = (Object(cause) as Record<string, unknown>)["code"];
  const known = [inner, code].find(
    (one): one is string => typeof one === "string" && /^[A-Z][A-Z0-9_]{1,63}$/.test(one),
  );
  return `the connection failed${known === undefined ? "" : ` (${known})`}`;
}

/** A longer delay is left to the caller: the error has it as `retryAfterMs`. */
const MAX_DELAY_MS = 60_000;

/**
 * How long to wait before the next attempt of a call; undefined if there is none. A GET is repeated after every
 * failure that may pass. Any other call is repeated only when the gateway has refused it with 429 or 503 (409 in
 * its legacy format) and named a delay: after a lost answer it may have been done.
 */
function retryDelayMs(
  method: string,
  { code, status, retryAfterMs }: ManagementError,
  retries: number,
  { retryDelayMs: firstMs }: { readonly retryDelayMs: number },
): number | undefined {
  const mayPass = ["throttled", "server_error", "network", "timeout"].includes(code);
  const isRefused = code === "throttled" || status === 503;
  const isSafe = method === "GET" || (isRefused && retryAfterMs !== undefined);
  if (!mayPass || !isSafe || (retryAfterMs ?? 0) > MAX_DELAY_MS) return undefined;
  // Jitter, so that several clients do not come back together.
  const jitter = 0.5 + Math.random() / 2;
  if (retryAfterMs !== undefined) return Math.ceil(retryAfterMs + (1 - jitter) * firstMs);
  return Math.min(firstMs * 2 ** retries, MAX_DELAY_MS) * jitter;
}

/** A `Retry-After` in milliseconds, whether it has seconds or a date. */
function retryAfterMsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\s*[0-9]{1,9}\s*$/.test(header)) return Number(header) * 1000;
  // Date.parse takes "-1" and "1.5" for dates.
  const isDate = /^\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(header);
  const at = isDate ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
