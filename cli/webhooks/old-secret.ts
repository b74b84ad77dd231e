import { createHash } from "node:crypto";
import { pause } from "../../src/common/timers.js";
import {
  isOldSecretQuiet,
  secretMatches,
  watchOldSecret,
  type OldSecretState,
} from "../../src/management/old-secret-watch.js";
import { createSender } from "../../kit/sending/sender.js";
import { untilAborted } from "../exit.js";

/** The metrics of many replicas, each with its histograms, fit into this. */
const MAX_METRICS_BYTES = 16 * 1_048_576;

/** How the old secret is watched. */
export interface WatchOptions {
  /** The metrics of each replica, in the text format of Prometheus. */
  readonly urls: readonly string[];
  /** What the metrics call the new secret. Undefined for a short one: then the first of a replica counts as the new one. */
  readonly newFingerprint: string | undefined;
  readonly quietMs: number;
  readonly intervalMs: number;
  /** Looks once and does not wait. */
  readonly once: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called after each look. */
  readonly onLook: (state: WatchState) => Promise<void>;
  /** Called when a replica gives no metrics and did before, or was not asked before. */
  readonly onNoMetrics: (url: string) => void;
}

/** What is remembered between two looks. */
export interface WatchState extends OldSecretState {
  /** A hash of the replicas' URLs, which may hold a token. The counts of others cannot be compared. */
  readonly sources: string;
  /** How often each replica had seen this new secret match; null if it could not be asked. */
  readonly newMatches: readonly (number | null)[];
  /** Whether a delivery with the new secret has come since the switch: without one the gateway may not use it. */
  readonly isNewSeen: boolean;
}

/** Why the watch ended. */
export type WatchResult = "finished" | "no_delivery_seen" | "no_metrics" | "old_secret_in_use";

/** Watches the old secret until it has been quiet for long enough. Rejects with the signal's reason. */
export async function watchUntilQuiet(
  before: WatchState | undefined,
  options: WatchOptions,
): Promise<{ readonly result: WatchResult; readonly state: WatchState }> {
  const { urls, quietMs, intervalMs, once, signal, onLook, onNoMetrics } = options;
  let state = before;
  let silent: readonly string[] = [];
  const sources = createHash("sha256").update(JSON.stringify(urls)).digest("hex");
  for (;;) {
    const found = await Promise.all(urls.map((url) => matchesAt(url, options)));
    // An interrupted look found nothing, which must not start the quiet time again.
    signal.throwIfAborted();
    const known = silent;
    silent = urls.filter((_url, at) => found[at] === null);
    for (const url of silent) if (!known.includes(url)) onNoMetrics(url);
    const nowMs = Date.now();
    state = stateAfter(state, found, { nowMs, sources });
    await onLook(state);
    if (isOldSecretQuiet(state, nowMs, quietMs)) {
      return { result: state.isNewSeen ? "finished" : "no_delivery_seen", state };
    }
    if (once) return { result: silent.length > 0 ? "no_metrics" : "old_secret_in_use", state };
    await pause(intervalMs, signal);
    signal.throwIfAborted();
  }
}

type Matches = NonNullable<ReturnType<typeof secretMatches>>;

function stateAfter(
  before: WatchState | undefined,
  found: readonly (Matches | null)[],
  { nowMs, sources }: { readonly nowMs: number; readonly sources: string },
): WatchState {
  const known = before?.sources === sources ? before : undefined;
  const old = found.map((one) => one?.old ?? null);
  const newMatches = found.map((one) => one?.new ?? null);
  const earlier = known?.newMatches ?? [];
  // The first look only counts from where: before a deploy the first secret may have been the old one.
  const hasMoved = newMatches.some((count, at) => {
    const last = earlier[at] ?? null;
    return count !== null && last !== null && count !== last && count > 0;
  });
  // A replica that started again may have lost matches of the old secret, also if its count of them was 0.
  const hasRestarted = newMatches.some((count, at) => count !== null && count < (earlier[at] ?? 0));
  return {
    ...watchOldSecret(hasRestarted ? undefined : known, old, nowMs),
    newMatches,
    sources,
    isNewSeen: before?.isNewSeen === true || hasMoved,
  };
}

/** Null if the replica cannot be asked, or has no such metric. */
async function matchesAt(
  url: string,
  { newFingerprint, timeoutMs, signal }: WatchOptions,
): Promise<Matches | null> {
  const sender = createSender(url, { timeoutMs }, MAX_METRICS_BYTES);
  try {
    const sent = sender.send({ method: "GET", headers: [] });
    const { status, body } = await untilAborted(signal, sent);
    return status === 200 ? secretMatches(body, newFingerprint) : null;
  } catch {
    return null;
  } finally {
    sender.close();
  }
}
