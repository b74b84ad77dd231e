import type { ManagementError } from "./management-error.js";

/** A longer delay is left to the caller: the error has it as `retryAfterMs`. */
const MAX_DELAY_MS = 60_000;

/**
 * How long to wait before the next attempt of a call; undefined if there is none. A GET is repeated after every
 * failure that may pass. Any other call is repeated only when the gateway has refused it with 429 or 503 (409 in
 * its legacy format) and named a delay: after a lost answer it may have been done.
 */
export function retryDelayMs(
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
export function retryAfterMsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\s*[0-9]{1,9}\s*$/.test(header)) return Number(header) * 1000;
  // Date.parse takes "-1" and "1.5" for dates.
  const isDate = /^\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(header);
  const at = isDate ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
