import { pause } from "../common/timers.js";

/** What `replay` did with each id. */
export interface Replayed {
  /** Waits for a worker again. */
  readonly replayed: readonly string[];
  /** Not dead: unknown, handled, discarded, or replayed by another call. */
  readonly notFound: readonly string[];
  /** Only of a growing replay that stopped before its end. */
  readonly stopped?:
    | {
        /** `failed`: a run of `ids` failed. `timeout`: `ids` were not handled within `groupTimeoutMs`. */
        readonly reason: "failed" | "timeout";
        /** The replayed deliveries in the way. Their jobs keep their other attempts. */
        readonly ids: readonly string[];
        /** Still dead: the replay did not reach them. */
        readonly notReplayed: readonly string[];
      }
    | undefined;
}

/** What a growing replay needs of an engine. */
export interface WatchedReplay {
  /** Resolves to the ids that it found. */
  replay(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Of ids that this replayed those that are not handled: `open` if the job waits or runs, `failed` if a run has
   * failed since the replay or the job is dead.
   */
  unhandled(ids: readonly string[]): Promise<ReadonlyMap<string, "open" | "failed">>;
  /** Called once, when the growing replay ends. */
  end?(): Promise<void>;
}

/** How many deliveries are replayed at once. The last group has the rest. */
const GROUP_SIZES = [1, 5, 25, Infinity];
/** How often a group is looked at. */
const LOOK_MS = 500;

/**
 * Replays one delivery, then 5, then 25, then the rest. A group starts when the one before is handled. The first
 * failure of a run, or a group that takes longer than `timeoutMs`, ends it. `replay` replays a group.
 */
export async function replayGrowing(
  ids: readonly string[],
  replay: (group: readonly string[]) => Promise<Replayed>,
  unhandled: WatchedReplay["unhandled"],
  timeoutMs: number,
): Promise<Replayed> {
  const replayed: string[] = [];
  const notFound: string[] = [];
  let start = 0;
  for (const size of GROUP_SIZES) {
    const group = await replay(ids.slice(start, start + size));
    start += size;
    replayed.push(...group.replayed);
    notFound.push(...group.notFound);
    if (start >= ids.length) break;
    const stopped = await handled(group.replayed, unhandled, timeoutMs);
    if (stopped !== undefined) {
      return { replayed, notFound, stopped: { ...stopped, notReplayed: ids.slice(start) } };
    }
  }
  return { replayed, notFound };
}

/** Waits until the runs of these deliveries have succeeded. Resolves to what is in the way, if anything is. */
async function handled(
  group: readonly string[],
  unhandled: WatchedReplay["unhandled"],
  timeoutMs: number,
): Promise<{ reason: "failed" | "timeout"; ids: string[] } | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const states = [...(await unhandled(group))];
    if (states.length === 0) return undefined;
    const failed = states.filter(([, state]) => state === "failed");
    if (failed.length > 0) return { reason: "failed", ids: failed.map(([id]) => id) };
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return { reason: "timeout", ids: states.map(([id]) => id) };
    await pause(Math.min(LOOK_MS, leftMs));
  }
}
