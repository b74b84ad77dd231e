import { invalidOption } from "../common/errors.js";
import { integerOption, integerOptions } from "../common/option-checks.js";
import { MAX_TIMER_MS } from "../common/timers.js";

/** The date that opts into standardized responses. */
const STANDARD_VERSION = "2026-06-12";

/**
 * Options of everything that calls the gateway.
 *
 * @experimental
 */
export interface ConnectionOptions {
  /**
   * The gateway's address, `{base_url}` of its document: `https://gateway.example` or a URL with a path. An `https`
   * URL without user, password and query, or an `http` URL of this machine.
   */
  readonly baseUrl: string;
  /**
   * Takes a `baseUrl` with `http` of another machine too. Tokens, passwords and new secrets then go in clear. Default
   * false.
   */
  readonly allowHttp?: boolean | undefined;
  /**
   * The header `X-API-Version`. Default `"2026-06-12"`, the standardized format; `false` sends none. Both formats are
   * read in any case.
   */
  readonly apiVersion?: string | false | undefined;
  /** How long one request waits for its whole answer. Milliseconds, from 1 to 2 147 483 647, default 15 000. */
  readonly timeoutMs?: number | undefined;
  /**
   * How many times a call is repeated at most. A GET is repeated after a network error, a time-out, throttling and 5xx.
   * Any other call is repeated only after throttling and 503, if the answer names a delay. From 0 to 10, default 3.
   */
  readonly maxRetries?: number | undefined;
  /**
   * The delay before the first repetition, if the answer names none. It doubles each time, with jitter, up to a minute.
   * Milliseconds, from 1 to 60 000, default 500.
   */
  readonly retryDelayMs?: number | undefined;
  /** Ends all calls when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Makes the requests. Default the global `fetch`. Your own can set a proxy or certificates. */
  readonly fetch?: FetchFunction | undefined;
}

/**
 * The part of `fetch` that is used.
 *
 * @experimental
 */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

const INTEGER_OPTIONS = {
  timeoutMs: { fallback: 15_000, min: 1, max: MAX_TIMER_MS },
  maxRetries: { fallback: 3, min: 0, max: 10 },
  retryDelayMs: { fallback: 500, min: 1, max: 60_000 },
};

/** The names of `ConnectionOptions`. */
export const CONNECTION_OPTION_NAMES = [
  ...Object.keys(INTEGER_OPTIONS),
  "baseUrl",
  "allowHttp",
  "apiVersion",
  "signal",
  "fetch",
];

/** Connection options, checked and with their defaults. */
export type CallSettings = ReturnType<typeof checkConnection>;

/** Checks the options of a connection. Throws `ConfigurationError`. */
export function checkConnection(options: ConnectionOptions) {
  const { apiVersion = STANDARD_VERSION, signal, fetch = globalThis.fetch } = options;
  if (typeof fetch !== "function") throw invalidOption("fetch must be a function");
  if (apiVersion !== false && !/^[\x21-\x7e]+$/.test(apiVersion)) {
    throw invalidOption("apiVersion must be a version such as 2026-06-12, or false");
  }
  return {
    ...integerOptions(options, INTEGER_OPTIONS),
    baseUrl: baseUrlOf(options),
    apiVersion: apiVersion === false ? undefined : apiVersion,
    signal,
    // Called as a plain function: the global one refuses another `this`.
    fetch: (url: string, init: RequestInit) => fetch(url, init),
  };
}

/** The option `timeoutMs` of a single request. Throws `ConfigurationError`. */
export function timeoutOption(timeoutMs: number | undefined): number {
  return integerOption("timeoutMs", timeoutMs, INTEGER_OPTIONS.timeoutMs);
}

/** An http or https URL. Throws `ConfigurationError`, which does not repeat it: it may hold a password. */
export function httpUrlOf(name: string, given: string): URL {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === undefined || !isHttp || url.username !== "" || url.password !== "") {
    throw invalidOption(`${name} must be an http or https URL without user and password`);
  }
  return url;
}

/** Whether the host is this machine, judged by the name alone: a DNS answer could name another machine. */
export function isLoopback({ hostname }: URL): boolean {
  const host = hostname.replace(/\.$/, "").toLowerCase();
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  // The URL parser has already normalized every form of an address.
  return /^(?:127\.[0-9.]+|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/.test(host);
}

/** Ends with a slash, so that paths are resolved below it. */
function baseUrlOf({ baseUrl, allowHttp = false }: ConnectionOptions): URL {
  const url = httpUrlOf("baseUrl", baseUrl);
  if (url.protocol === "http:" && !isLoopback(url) && (allowHttp as unknown) !== true) {
    throw invalidOption(
      "baseUrl must be an https URL: over http the token and new secrets go in clear. allowHttp takes it all the same",
    );
  }
  if (url.search !== "" || url.hash !== "") throw invalidOption("baseUrl must have no query");
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}
