import { bodyFields } from "../fixtures/fixture.js";
import { jsonOf } from "../json-parts.js";
import { headerOf, type HeaderLine } from "../sending/wire.js";
import { HEADERS } from "../../src/delivery/headers.js";
import { resultOfStatus } from "../../src/answer/outcome.js";
import type { AttemptResult } from "../twin/attempt-result.js";
import { checkRetrySchedule, gapMs } from "../twin/retry-schedule.js";
import { createRandom } from "../random.js";
import type { DeliveryEntry, DifferingBytes } from "./delivery-entry.js";
import type { Intake } from "./delivery-intake.js";

/**
 * A request that a listener has answered. Headers, body and answer may be personal data.
 *
 * @experimental
 */
export interface ListenedDelivery extends DeliveryEntry {
  /** Counts the requests of the listener, from 1. */
  readonly seq: number;
  /** `gateway`: it arrived at the listener's URL. `listener`: it was sent from here. */
  readonly source: "gateway" | "listener";
  /** `event_type` of the alarm or `type` of the event, if the signature is good. */
  readonly eventType?: string;
  /** `account_id` of the record, if the signature is good. */
  readonly accountId?: number;
  /** Header lines in their order. */
  readonly headers: readonly HeaderLine[];
  /** The body as text. Absent if it was not read or is not UTF-8. */
  readonly body?: string;
  /** The body in base64 if it is not UTF-8. */
  readonly bodyBase64?: string;
  /** The bytes of the body that differ from what was signed, if that is known. */
  readonly differs?: DifferingBytes;
  /** Body of the answer, its first 65 536 bytes as text. */
  readonly answer: string;
  /** Which attempt with this X-Webhook-Id it is, from 1, as far as the listener remembers. */
  readonly attempt: number;
  /** What the gateway makes of the answer. */
  readonly result: AttemptResult;
  /** When the gateway sends it again by its schedule, in ISO 8601. Absent if it does not. */
  readonly againAt?: string;
  /** When the gateway would give it up, in ISO 8601. Set with `againAt`. */
  readonly givenUpAt?: string;
}

const MAX_ANSWER_BYTES = 65_536;
const SCHEDULE = checkRetrySchedule();
/** The schedule has no jitter, so nothing is drawn. */
const NO_RANDOM = createRandom(0);
const GAPS = Array.from({ length: SCHEDULE.attempts - 1 }, (_, at) =>
  gapMs(SCHEDULE, at + 1, NO_RANDOM),
);

/** The exact bytes of the body. */
export function bodyOf({ body, bodyBase64 }: ListenedDelivery): Uint8Array | undefined {
  if (bodyBase64 !== undefined) return Buffer.from(bodyBase64, "base64");
  return body === undefined ? undefined : Buffer.from(body);
}

/** Adds to an entry what the request held, and what the gateway does next. */
export function listenedDelivery(
  { lines, body, answer, isOwn, verification }: Intake,
  entry: DeliveryEntry,
  differs: DifferingBytes | undefined,
  { seq, earlier }: { readonly seq: number; readonly earlier: readonly ListenedDelivery[] },
): ListenedDelivery {
  const fields: Pick<ListenedDelivery, "body" | "bodyBase64"> = body ? bodyFields(body) : {};
  const id = headerOf(lines, HEADERS.id.name);
  const before = earlier.filter(
    ({ headers, source }) =>
      source === "gateway" && id !== undefined && headerOf(headers, HEADERS.id.name) === id,
  );
  const attempt = before.length + 1;
  const result = entry.status === 0 ? "network_error" : resultOfStatus(entry.status);
  const isSentAgain = result === "retryable" || result === "network_error";
  const gap = GAPS[attempt - 1];
  const inMs = (from: string, ms: number): string => new Date(Date.parse(from) + ms).toISOString();
  const end = GAPS.reduce((sum, one) => sum + one, 0);
  return {
    ...entry,
    seq,
    source: isOwn ? "listener" : "gateway",
    ...(verification.authentic === undefined ? {} : recordFields(fields.body)),
    headers: lines,
    ...fields,
    ...(differs && { differs }),
    answer: Buffer.from(answer?.body ?? "")
      .subarray(0, MAX_ANSWER_BYTES)
      .toString(),
    attempt: isOwn ? 1 : attempt,
    result,
    ...(isSentAgain && !isOwn && gap !== undefined
      ? { againAt: inMs(entry.at, gap), givenUpAt: inMs(before[0]?.at ?? entry.at, end) }
      : {}),
  };
}

function recordFields(text = ""): Pick<ListenedDelivery, "eventType" | "accountId"> {
  const { alarm, event } = Object(jsonOf(text)) as Record<string, unknown>;
  const record = Object(alarm ?? event) as Record<string, unknown>;
  const eventType = record["event_type"] ?? record["type"];
  const accountId = Number(record["account_id"] ?? NaN);
  return {
    ...(typeof eventType === "string" ? { eventType } : {}),
    ...(Number.isSafeInteger(accountId) ? { accountId } : {}),
  };
}
