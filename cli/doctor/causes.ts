import type { FailureCode } from "../../kit/conformance/conformance-case.js";
import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";

/** Failed cases with one cause. */
export interface CauseGroup {
  /** What to change, as a sentence. */
  readonly change: string;
  readonly ends: readonly ConformanceCaseReport[];
}

/** When a change is the one to make. */
interface Cause {
  /** The cases that fail for this cause whatever the answer was. */
  readonly ids?: readonly string[];
  /** The codes of the failures that have this cause, whatever the case is. */
  readonly codes?: readonly FailureCode[];
  /** The group whose other cases fail for this cause. */
  readonly group?: string;
  /** Nothing else can be judged before this is fixed. */
  readonly isFirst?: boolean;
}

/**
 * What makes cases fail, by what to change. The first row that fits a case counts: by the code of its failure, by
 * its id, and at last by its group, so that a case that is new finds a row too.
 */
const CAUSES: Readonly<Record<string, Cause>> = {
  "Repair the probe: its URL does not answer as doctor expects.": {
    codes: ["probe_failed"],
    isFirst: true,
  },
  "Accept a plain genuine delivery: compare the secret, then what is signed (`v1:timestamp:id:` and the raw body).":
    { ids: ["alarm", "event"], isFirst: true },
  "Answer 409 or 503 where you answer 400, 401, 403, 404 or 422: after these the gateway gives up for good.":
    { codes: ["given_up"] },
  "Answer only statuses of the gateway's contract: 409 instead of 405, 413 or 415.": {
    codes: ["unlisted_status"],
  },
  "Acknowledge a delivery only when it is handled, or safe in a queue.": {
    codes: ["not_handled"],
    ids: ["ten_failures_sent_again"],
  },
  "Claim the whole X-Webhook-Id in one atomic step before the handler runs, and remember it when it is handled.":
    { codes: ["handled_again", "taken_for_duplicate"] },
  "Keep the id claimed while its handler runs, and free it only when the handler has failed.": {
    ids: ["failure_sent_again", "late_handler_counts", "late_failure_released", "hang_up"],
  },
  "Verify and decode the raw bytes as they came, before any parser sees them.": {
    ids: [
      "exact_bytes",
      "other_bytes",
      "other_bytes_same_text",
      "non_ascii",
      "nested_text",
      "split_characters",
      "byte_order_mark",
      "invalid_utf8",
    ],
  },
  "Compare the signed timestamp with your clock: five minutes either way are right.": {
    ids: ["stale", "future", "minute_old", "seconds_ahead"],
  },
  "Read bodies up to 1 MiB, and no further.": {
    ids: ["big_alarm", "oversize", "big_forgery", "unlimited_body"],
  },
  "Check the grammar of the four webhook headers first: refuse what is missing, repeated or malformed.":
    { ids: ["timestamp_text", "delimiter_shift", "invalid_header_bytes"], group: "headers" },
  "Take the type from the signed body, and refuse a header that differs.": { ids: ["type_flip"] },
  "Never put the secret, or the signature that you expected, into an answer.": {
    ids: ["leaked_secret", "leaked_signature"],
  },
  "Answer every request, also one that you cannot read.": { codes: ["no_answer"] },
  "Verify the whole signature with your secrets alone: HMAC-SHA256, compared in constant time.": {
    ids: ["forged_http_1_0"],
    group: "forgery",
  },
  "Accept what the gateway may send: unknown fields and values, other formats, odd shapes.": {
    ids: ["http_1_0"],
    group: "acceptance",
  },
  "Let the gateway send again what you cannot take yet.": { group: "retries" },
  "Handle each X-Webhook-Id exactly once.": { group: "idempotency" },
  "Read each body to its end, whatever the connection does.": {
    ids: ["chunked"],
    group: "transport",
  },
  "Answer a fixed, short text that repeats nothing.": { group: "answers" },
};

/** Cases that the sentence of their group does not fit. Their own fix says what to change. */
const APART = new Set([
  "broken_upload",
  "interleaved_uploads",
  "expect_continue",
  "other_methods",
  "no_server_errors",
  "ban_after_forgeries",
  "late_effects",
]);

/** The failed cases by their cause: first what blocks the others, then what must pass, then the most cases. */
export function causesOf(ends: readonly ConformanceCaseReport[]): readonly CauseGroup[] {
  const found = new Map<string, ConformanceCaseReport[]>();
  for (const end of ends) {
    if (end.result !== "failed") continue;
    const change = changeFor(end);
    found.set(change, [...(found.get(change) ?? []), end]);
  }
  const rank = ({ change, ends: own }: CauseGroup): number =>
    (CAUSES[change]?.isFirst === true ? 0 : 2) +
    (own.some(({ level }) => level === "must") ? 0 : 1);
  return Array.from(found, ([change, own]) => ({ change, ends: own })).sort(
    (one, other) => rank(one) - rank(other) || other.ends.length - one.ends.length,
  );
}

/** The fix of a case without a row is its own cause. */
function changeFor({ id, group, code, fix }: ConformanceCaseReport): string {
  if (code === "receiver_failed") return fix;
  const rows = Object.entries(CAUSES);
  const [change = fix] =
    rows.find(([, { codes = [] }]) => code !== undefined && codes.includes(code)) ??
    rows.find(([, { ids = [] }]) => ids.includes(id)) ??
    rows.find(([, cause]) => cause.group === group && !APART.has(id)) ??
    [];
  return change;
}
