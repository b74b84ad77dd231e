import { LONGEST_RETRIES_MS } from "../common/gateway-facts.js";
import { keyOf } from "../signature/secrets.js";

/**
 * What is remembered between two looks at the old secret. Plain data for JSON.
 *
 * @experimental
 */
export interface OldSecretState {
  /** How often each source had seen the old secret match; null if it could not be asked yet. */
  readonly matches: readonly (number | null)[];
  /** Since when no source has seen it match, in Unix milliseconds. */
  readonly quietSinceMs: number;
  /** When the sources were asked last, in Unix milliseconds. */
  readonly lookedAtMs: number;
}

/** How long the old secret must be quiet: twice as long as the gateway can retry, in milliseconds. */
const QUIET_MS = 2 * LONGEST_RETRIES_MS;
/** The longest pause between two looks. A source that starts again in a longer one could hide a match. */
const MAX_PAUSE_MS = 2 * 3_600_000;

/**
 * Compares how often the old secret has matched with an earlier look. Any match, a count that has fallen, a source that
 * cannot be asked, and more than 2 hours since the look before start the quiet time again.
 *
 * A source that starts again loses its count, and what it saw since the look before. A count of 0 does not show that.
 * Give null for a source that you know to have started again: by its start time, or by another count of it that fell, such
 * as that of the matches of the first secret.
 *
 * @param before The state of the look before; undefined for the first one.
 * @param matches One count for each source, in the same order each time: for each replica, how many deliveries the
 *   secrets after the first have matched since it started. Null for a source that cannot be asked, or has started again since the look before.
 * @param nowMs Unix time in milliseconds.
 * @experimental
 */
export function watchOldSecret(
  before: OldSecretState | undefined,
  matches: readonly (number | null)[],
  nowMs: number,
): OldSecretState {
  const pauseMs = nowMs - (before?.lookedAtMs ?? Number.NaN);
  const isQuiet =
    before?.matches.length === matches.length &&
    pauseMs >= 0 &&
    pauseMs <= MAX_PAUSE_MS &&
    matches.every((count, at) => {
      const earlier = before.matches[at] ?? null;
      // A lower count is that of a source that started again: what it saw before is not known.
      return count !== null && count === earlier;
    });
  return { matches, quietSinceMs: isQuiet ? before.quietSinceMs : nowMs, lookedAtMs: nowMs };
}

/**
 * Whether the old secret may be removed: it has been quiet for `quietMs`, by default 72 hours.
 *
 * @experimental
 */
export function isOldSecretQuiet(
  { quietSinceMs }: OldSecretState,
  nowMs: number,
  quietMs = QUIET_MS,
): boolean {
  return nowMs - quietSinceMs >= quietMs;
}

const SAMPLE = /^gateway_webhook_secret_matches_total\{([^}\n]*)\}[ \t]+([0-9.eE+]+)/gm;

/**
 * What the metrics call a secret, as the label `secret_fingerprint`: four hexadecimal digits, 16 bits of HMAC(secret, a
 * fixed label). Undefined for a secret of fewer than 16 characters. Rejects with a `ConfigurationError` for a value that
 * cannot be a secret.
 *
 * @experimental
 */
export async function secretFingerprint(secret: string): Promise<string | undefined> {
  const found = await keyOf(secret).fingerprint();
  return found === "" ? undefined : found;
}

/**
 * How often the new secret of a rotation has matched, and how often the others, read from the metrics of a receiver in
 * the text format of Prometheus. Null if the text has no such metric.
 *
 * @param newFingerprint The `secretFingerprint` of the new secret, which must also be the first one of the receiver.
 *   Without it the first one counts as new, whoever has deployed it.
 * @experimental
 */
export function secretMatches(
  metrics: string,
  newFingerprint?: string,
): { readonly old: number; readonly new: number } | null {
  let found: { old: number; new: number } | null = null;
  for (const [, labels = "", value = ""] of metrics.matchAll(SAMPLE)) {
    const index = /secret_index="([0-9]+)"/.exec(labels)?.[1];
    if (index === undefined) continue;
    const isWanted = newFingerprint === undefined || labels.includes(`="${newFingerprint}"`);
    found ??= { old: 0, new: 0 };
    found[index === "0" && isWanted ? "new" : "old"] += Number(value);
  }
  return found;
}
