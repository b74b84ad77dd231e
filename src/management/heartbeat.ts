import { integerOptions, missingMethod, ownOptions } from "../common/option-checks.js";
import { ConfigurationError, invalidOption } from "../common/errors.js";
import { startBackgroundTimer } from "../common/timers.js";
import { networkReason } from "./gateway-calls.js";
import { internalsOf, type WebhookReceiver } from "../options/webhook-receiver.js";
import { httpUrlOf, type FetchFunction } from "./call-settings.js";

/**
 * Options of `heartbeat`.
 *
 * @experimental
 */
export interface HeartbeatOptions {
  /** The receiver whose `health()` is read before each ping. */
  readonly receiver: Pick<WebhookReceiver, "health"> & Partial<WebhookReceiver>;
  /**
   * The ping URL of a dead man's switch, such as `https://hc-ping.com/<uuid>`. An `http` or `https` URL without user and
   * password. A ping that reports a failure goes to its path with `/fail` at the end.
   */
  readonly url: string;
  /**
   * The time between two pings. The first one is sent at once. Milliseconds, from 1 000 to 86 400 000, default 60 000.
   */
  readonly everyMs?: number | undefined;
  /** How long a ping waits for its answer. Milliseconds, from 100 to 60 000, default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Makes the requests. Default the global `fetch`. */
  readonly fetch?: FetchFunction | undefined;
}

const INTEGER_OPTIONS = {
  everyMs: { fallback: 60_000, min: 1_000, max: 86_400_000 },
  timeoutMs: { fallback: 10_000, min: 100, max: 60_000 },
};
const OPTION_NAMES = ["receiver", "url", "fetch", ...Object.keys(INTEGER_OPTIONS)];

/**
 * Pings a dead man's switch for as long as this process lives, its event loop turns and `receiver.health()` is not
 * `failing`. A process that is killed, hangs or is cut off stops pinging, and the switch raises the alarm. While
 * the health is `failing`, the ping goes to `<url>/fail`, with the codes of the reasons as its body; otherwise the
 * body is empty. Pings end when the receiver drains, and with the returned function. They do not keep the process alive.
 *
 * No ping starts before the one before has ended. A ping that fails is not repeated: the next one follows. The first of
 * several failures is one warning in the receiver's log.
 *
 * @returns a function that ends the pings.
 * @throws ConfigurationError for a wrong option.
 * @experimental
 */
export function heartbeat(options: HeartbeatOptions): () => void {
  const given = ownOptions("heartbeat", options, OPTION_NAMES);
  const { receiver, fetch = globalThis.fetch } = given;
  const { everyMs, timeoutMs } = integerOptions(given, INTEGER_OPTIONS);
  if (missingMethod(receiver, ["health"]) !== undefined) {
    throw new ConfigurationError("invalid_receiver", "heartbeat needs a receiver with health()");
  }
  if (typeof fetch !== "function") throw invalidOption("fetch must be a function");
  const url = httpUrlOf("url", given.url).href;
  const failUrl = new URL(url);
  failUrl.pathname = `${failUrl.pathname.replace(/\/$/, "")}/fail`;

  const stopped = new AbortController();
  const isStopped = () => stopped.signal.aborted;
  const log = internalsOf(receiver)?.log;
  let endTimer: (() => void) | undefined;
  let hasFailed = false;

  /** Resolves to why the ping failed. */
  const ping = async (): Promise<string | undefined> => {
    try {
      const { status, reasons, draining } = receiver.health();
      // A process that takes no more deliveries must not keep the switch quiet.
      if (draining) stopped.abort();
      if (isStopped()) return undefined;
      const isFailing = status === "failing";
      const answer = await fetch(isFailing ? failUrl.href : url, {
        method: "POST",
        body: isFailing ? reasons.map(({ code }) => code).join(" ") : "",
        signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(timeoutMs)]),
      });
      await answer.body?.cancel();
      return answer.ok ? undefined : `it was answered ${String(answer.status)}`;
    } catch (error) {
      return error instanceof DOMException && error.name === "TimeoutError"
        ? "no answer in time"
        : networkReason(error);
    }
  };
  const run = async (): Promise<void> => {
    const failure = await ping();
    if (isStopped()) return;
    if (failure !== undefined && !hasFailed) {
      log?.warn(
        `a heartbeat did not reach its URL: ${failure}. If none does, the alarm is raised there`,
      );
    }
    hasFailed = failure !== undefined;
    endTimer = startBackgroundTimer(everyMs, () => void run());
  };
  void run();
  return () => {
    stopped.abort();
    endTimer?.();
  };
}
