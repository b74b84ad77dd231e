import { RETRIES, RETRYABLE_STATUSES } from "../common/gateway-facts.js";
import { timeOf, type AttemptReader, type DeliveryAttempt } from "./attempt-reader.js";
import type { Webhook } from "./webhook.js";

/** A delivery of a webhook, as its stored attempts tell it. */
export interface AttemptedDelivery {
  /** X-Webhook-Id. */
  readonly deliveryId: string;
  /** The type of its webhook. */
  readonly type: string;
  readonly webhookId: string;
  /** HTTP status of the last attempt. Undefined if no answer arrived. */
  readonly lastStatus: number | undefined;
  /** When the first stored attempt was made. */
  readonly firstAt: Date;
  /** When the last attempt was made. */
  readonly lastAt: Date;
  /** Number of stored attempts. */
  readonly attempts: number;
  /** Whether an attempt was answered 2xx. The status does not say by whom: a proxy in front may have. */
  readonly isAcknowledged: boolean;
  /** Whether the gateway sends it no more. If not, it probably tries again. */
  readonly isGivenUp: boolean;
  readonly body: string | undefined;
  readonly attemptId: string | undefined;
}

/** An hour more, for a gateway that is late. */
const LONGEST_GAP_MS = RETRIES.maxDelayMs + 3_600_000;
/** How far the gateway's clock may be ahead of ours. */
const MAX_CLOCK_ERROR_MS = 86_400_000;
/** The gateway has webhooks since 2026. */
const EARLIEST_MS = Date.UTC(2020, 0);

/**
 * The stored attempts of a webhook.
 *
 * @experimental
 */
export interface AttemptHistory {
  readonly webhookId: string;
  /** The type of the webhook. */
  readonly type: string;
  /** Number of attempts, each once although two pages of the list may have it. */
  readonly attempts: number;
  /** How many of them could not be read. */
  readonly unreadable: number;
  /** When the oldest of the others was made. Undefined if there is none. */
  readonly oldestAt: Date | undefined;
  /** When the latest was made. */
  readonly latestAt: Date | undefined;
  /** HTTP status of the answer to the latest. Undefined if none arrived. */
  readonly latestStatus: number | undefined;
  /** When the webhook was made. Undefined if the gateway does not say. */
  readonly createdAt: Date | undefined;
}

/**
 * The attempts of a webhook, the oldest first. An attempt that is stored while pages are read moves others to the next
 * page: the same record twice is one attempt.
 */
export function readAttempts(
  { id: webhookId, type, raw }: Webhook,
  records: readonly unknown[],
  readAttempt: AttemptReader,
  nowMs: number,
): { readonly attempts: readonly DeliveryAttempt[]; readonly history: AttemptHistory } {
  const found = new Map<string, DeliveryAttempt>();
  let unreadable = 0;
  for (const record of records) {
    const attempt = usableAttempt(record, readAttempt, nowMs);
    if (attempt === undefined) unreadable += 1;
    else found.set(keyOf(record, attempt), attempt);
  }
  // Of two attempts of the same second the second one in the list is the later.
  const attempts = [...found.values()].sort((one, other) => Number(one.at) - Number(other.at));
  const latest = attempts.at(-1);
  const createdAt = new Date(timeOf(raw["created_at"]));
  return {
    attempts,
    history: {
      webhookId,
      type,
      attempts: found.size + unreadable,
      unreadable,
      oldestAt: attempts[0]?.at,
      latestAt: latest?.at,
      latestStatus: latest?.status,
      createdAt: Number.isNaN(createdAt.getTime()) ? undefined : createdAt,
    },
  };
}

/** The deliveries of a webhook whose last attempt was not before `since`. `attempts`: the oldest first. */
export function attemptedDeliveries(
  { id: webhookId, type }: Webhook,
  all: readonly DeliveryAttempt[],
  { since, nowMs }: { readonly since: Date; readonly nowMs: number },
): readonly AttemptedDelivery[] {
  const byId = new Map<string, AttemptedDelivery>();
  for (const attempt of all) {
    const { deliveryId, at, status, attemptId } = attempt;
    const before = byId.get(deliveryId);
    const attempts = (before?.attempts ?? 0) + 1;
    const isAcknowledged = before?.isAcknowledged === true || wasAcknowledged(attempt);
    byId.set(deliveryId, {
      deliveryId,
      type,
      webhookId,
      lastStatus: status,
      firstAt: before?.firstAt ?? at,
      lastAt: at,
      attempts,
      isAcknowledged,
      isGivenUp: isAcknowledged || isGivenUp(attempt, attempts, nowMs),
      body: before?.body ?? attempt.body,
      attemptId,
    });
  }
  return [...byId.values()].filter(({ lastAt }) => lastAt >= since);
}

/** So many attempts without a 2xx in a row are more than a restart. */
const MANY_REFUSALS = 5;

/** Of attempts, the oldest first, those after the last 2xx, if they are many or one of them was final. */
export function refusedAttempts(attempts: readonly DeliveryAttempt[]): readonly DeliveryAttempt[] {
  const refused = attempts.slice(attempts.findLastIndex(wasAcknowledged) + 1);
  return refused.length >= MANY_REFUSALS || refused.some(isFinal) ? refused : [];
}

function wasAcknowledged({ status = 0 }: DeliveryAttempt): boolean {
  return status >= 200 && status <= 299;
}

/**
 * The same for the same stored attempt. The id alone does not do: the field may hold the id of the delivery, and an
 * attempt that was answered 2xx must not be taken for a repeat. Without an id, the gaps of 10 seconds and more keep
 * attempts apart.
 */
function keyOf(record: unknown, { deliveryId, at, status, attemptId }: DeliveryAttempt): string {
  const { id } = Object(record) as { readonly id?: unknown };
  const isId = typeof id === "string" || typeof id === "number";
  const stored = attemptId ?? (isId ? String(id) : null);
  return JSON.stringify([deliveryId, stored, at.getTime(), status ?? null]);
}

/**
 * Undefined for a record that the reader, a function of a user, cannot read. A time far in the future or in the past is of
 * another unit, or no time: the delivery would seem to be retried for ever, or to be older than `since`.
 */
function usableAttempt(
  record: unknown,
  readAttempt: AttemptReader,
  nowMs: number,
): DeliveryAttempt | undefined {
  try {
    const attempt = readAttempt(record);
    if (typeof attempt?.deliveryId !== "string" || !(attempt.at instanceof Date)) return undefined;
    const ms = attempt.at.getTime();
    return ms >= EARLIEST_MS && ms <= nowMs + MAX_CLOCK_ERROR_MS ? attempt : undefined;
  } catch {
    return undefined;
  }
}

/** After such an answer the gateway gives up. */
function isFinal({ status }: DeliveryAttempt): boolean {
  return status !== undefined && !RETRYABLE_STATUSES.includes(status);
}

function isGivenUp(last: DeliveryAttempt, attempts: number, nowMs: number): boolean {
  const isLate = nowMs - last.at.getTime() > LONGEST_GAP_MS;
  return isLate || isFinal(last) || attempts >= RETRIES.attempts;
}
