import { NO_FAULTS, type Mode } from "./mode.js";

const HOLD_MS = 1_000;
/** Longer than a lease holds, and longer than its holder may be without a sign of life. */
const AWAY_MS = 2.6 * HOLD_MS;

/** Each record comes under two ids to one process, which has to know it under both. */
const TWO_IDS = {
  ...({ setup: "lease-redis", guarantee: "lease", engine: "redis" } as const),
  deliveries: 400,
  holdMs: HOLD_MS,
  receivers: 1,
  faultsMs: 12_000,
  faults: NO_FAULTS,
  options: { once: "record" },
  traffic: { twoWebhooks: true },
} as const;

/** The leases of the handlers that run end while the process is blocked. */
const TWO_IDS_PAUSE_MODE: Mode = {
  name: "two-ids-pause",
  title: "two ids in one process, which is blocked, Redis",
  ...TWO_IDS,
  handler: { maxMs: 1_000, longMs: 0 },
  blocksMs: AWAY_MS,
};

/** The lease of what was handled ends before the store has taken its completion. */
const TWO_IDS_COMPLETION_MODE: Mode = {
  name: "two-ids-completion",
  title: "two ids in one process, completions wait, Redis",
  ...TWO_IDS,
  handler: { maxMs: 15, longMs: 0 },
  refusesCompletionsMs: AWAY_MS,
};

/** One record under two ids in one process. */
export const TWO_IDS_MODES: readonly Mode[] = [TWO_IDS_PAUSE_MODE, TWO_IDS_COMPLETION_MODE];
