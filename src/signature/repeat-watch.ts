import { HEADERS } from "../delivery/headers.js";
import { LRUCache } from "lru-cache";
import type { Log } from "../answer/logger.js";
import type { Trace } from "../answer/trace.js";
import type { WebhookOutcome } from "../answer/outcome.js";
import type { Decoded } from "../records/decoded.js";

/** The gateway waits 10 s before its first retry; earlier duplicates come from the network. */
const MIN_GAP_MS = 8_000;
/** Number of ids remembered of each kind. A gateway that repeats timestamps does so for every id, so few are enough. */
const MAX_IDS = 1_000;
/** A longer text is compared by its length, which bounds the memory. */
const MAX_TEXT_LENGTH = 64;

const SAME_TIMESTAMP =
  `one delivery came again more than 8 s later with the same ${HEADERS.timestamp.name}: either the gateway repeats` +
  " the first timestamp at each attempt, or a proxy or someone with a captured delivery sends the same bytes" +
  " again. If it is the gateway, its later attempts will be refused as stale: raise timestampToleranceMs (with a" +
  " store that survives restarts, at most to retentionMs)";

const OTHER_RECORD =
  "the same id came with another record: only one record of an id is handled, so the other one is lost. Either the" +
  " gateway gave one id twice, or someone who knows a secret signs deliveries of their own: said once";

type DecodedRecord = Extract<Decoded, { readonly record: unknown }>;

/** What is remembered of a delivery that may come again. */
interface Seen {
  readonly timestampMs: number;
  readonly arrivedAtMs: number;
  readonly mark: Trace["mark"];
}

/**
 * Warns once if a later attempt repeats the timestamp of an earlier one, and once if it carries another record.
 * Retries are expected to be signed anew: a gateway that repeats the first timestamp is refused as stale after
 * `timestampToleranceMs`.
 */
export class RepeatWatch {
  readonly #log: Log;
  /**
   * The ids and marks of the last deliveries that were handled at once. Apart, so that they do not displace those
   * that come again. Lists, because each delivery adds to them and few look something up: a map takes 4 % of one.
   */
  readonly #handledIds: string[] = [];
  readonly #handledMarks: Trace["mark"][] = [];
  /** The place of the oldest of them, which the next one takes. */
  #next = 0;
  readonly #others = new LRUCache<string, Seen>({ max: MAX_IDS });
  readonly #said = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Called once per request, when it has ended. Never throws. */
  check(trace: Trace, outcome: WebhookOutcome): void {
    const { id, timestampMs, arrivedAtMs, mark } = trace;
    // Without an id the request is not authentic.
    if (id === undefined) return;
    const before = this.#others.size === 0 ? undefined : this.#others.get(id);
    if (outcome === "handled" && before === undefined) {
      // The gateway sends no delivery again that was handled at once, so its timestamp does not matter.
      this.#handledIds[this.#next] = id;
      this.#handledMarks[this.#next] = mark;
      this.#next = (this.#next + 1) % MAX_IDS;
      return;
    }
    const known = before?.mark ?? this.#handledMarks[this.#handledIds.lastIndexOf(id)];
    if (known !== undefined && mark !== undefined && known !== mark) {
      this.#warnOnce(OTHER_RECORD, id);
    }
    if (before?.timestampMs !== timestampMs) {
      this.#others.set(id, { timestampMs, arrivedAtMs, mark: mark ?? known });
    } else if (Math.abs(arrivedAtMs - before.arrivedAtMs) > MIN_GAP_MS) {
      this.#warnOnce(SAME_TIMESTAMP, id);
    }
  }

  #warnOnce(line: string, id: string): void {
    if (this.#said.has(line)) return;
    this.#said.add(line);
    this.#log.warn(line, { id });
  }
}

/**
 * Keeps the record in the trace, and apart from it a mark by which it is known, though another attempt may carry a
 * body that was built anew. The handler cannot change the mark.
 */
export function noteRecord(trace: Trace, { kind, record }: DecodedRecord): void {
  trace.record = record;
  if (kind === "new_alarm") trace.mark = record.id;
  else {
    const { account_id, site_id, type, occurred_at } = record;
    trace.mark = `${account_id} ${String(site_id)} ${short(type)} ${short(occurred_at)}`;
  }
}

function short(text: string): string | number {
  return text.length > MAX_TEXT_LENGTH ? text.length : text;
}
