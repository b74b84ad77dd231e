import { pause } from "../../common/timers.js";
import {
  isOldSecretQuiet,
  oldSecretMatches,
  watchOldSecret,
  type OldSecretState,
} from "../../management/old-secret-watch.js";
import { createSender } from "../../testing/sending/sender.js";

/** The metrics of many replicas, each with its histograms, fit into this. */
const MAX_METRICS_BYTES = 16 * 1_048_576;

/** How the old secret is watched. */
export interface WatchOptions {
  /** The metrics of each replica, in the text format of Prometheus. */
  readonly urls: readonly string[];
  readonly quietMs: number;
  readonly intervalMs: number;
  /** Looks once and does not wait. */
  readonly once: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called after each look. */
  readonly onLook: (state: OldSecretState) => Promise<void>;
}

/** Watches the old secret until it has been quiet for long enough. Resolves to whether it has. */
export async function watchUntilQuiet(
  before: OldSecretState | undefined,
  { urls, quietMs, intervalMs, once, timeoutMs, signal, onLook }: WatchOptions,
): Promise<boolean> {
  let state = before;
  const isAborted = () => signal.aborted;
  for (;;) {
    const matches = await Promise.all(urls.map((url) => matchesAt(url, timeoutMs)));
    const nowMs = Date.now();
    state = watchOldSecret(state, matches, nowMs);
    await onLook(state);
    if (isOldSecretQuiet(state, nowMs, quietMs)) return true;
    if (once || isAborted()) return false;
    await pause(intervalMs, signal);
    if (isAborted()) return false;
  }
}

/** Null if the replica cannot be asked, or has no such metric. */
async function matchesAt(url: string, timeoutMs: number): Promise<number | null> {
  const sender = createSender(url, { timeoutMs }, MAX_METRICS_BYTES);
  try {
    const { status, body } = await sender.send({ method: "GET", headers: [] });
    return status === 200 ? oldSecretMatches(body) : null;
  } catch {
    return null;
  } finally {
    sender.close();
  }
}
