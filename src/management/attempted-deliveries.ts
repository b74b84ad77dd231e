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
  const found: DeliveryAttempt[] = [];
  const known = new Set<string>();
  let unreadable = 0;
  for (const record of records) {
    const attempt = readOne(record, readAttempt);
    if (!isUsable(attempt, nowMs)) {
      unreadable += 1;
      continue;
    }
    const key = keyOf(record, attempt);
    if (known.has(key)) continue;
    known.add(key);
    found.push(attempt);
  }
  // Of two attempts of the same second the second one in the list is the later.
  const attempts = found.toSorted((one, other) => one.at.getTime() - other.at.getTime());
  const latest = attempts.at(-1);
  const createdAt = new Date(timeOf(raw["created_at"]));
  return {
    attempts,
    history: {
      webhookId,
      type,
      attempts: known.size + unreadable,
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
  const byDelivery = new Map<string, DeliveryAttempt[]>();
  for (const attempt of all) {
    const others = byDelivery.get(attempt.deliveryId);
    if (others === undefined) byDelivery.set(attempt.deliveryId, [attempt]);
    else others.push(attempt);
  }
  return [...byDelivery].flatMap(([deliveryId, attempts]) => {
    const [first] = attempts;
    const last = attempts.at(-1);
    if (first === undefined || last === undefined || last.at < since) return [];
    const isAcknowledged = attempts.some(wasAcknowledged);
    const withBody = attempts.find(({ body }) => body !== undefined);
    return [
      {
        deliveryId,
        type,
        webhookId,
        lastStatus: last.status,
        firstAt: first.at,
        lastAt: last.at,
        attempts: attempts.length,
        isAcknowledged,
        isGivenUp: isAcknowledged || isGivenUp(last, attempts.length, nowMs),
        body: withBody?.body,
        attemptId: last.attemptId,
      } satisfies AttemptedDelivery,
    ];
  });
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
 * A time far in the future or in the past is of another unit, or no time: the delivery would seem to be retried for
 * ever, or to be older than `since`.
 */
function isUsable(attempt: DeliveryAttempt | undefined, nowMs: number): attempt is DeliveryAttempt {
  if (typeof attempt !== "object" || (attempt as unknown) === null) return false;
  const { deliveryId, at } = attempt as Partial<DeliveryAttempt>;
  const isKnown = typeof deliveryId === "string" && at instanceof Date;
  return isKnown && at.getTime() >= EARLIEST_MS && at.getTime() <= nowMs + MAX_CLOCK_ERROR_MS;
}

/** A reader is a user's function: an error counts as a record that it cannot read. */
function readOne(record: unknown, readAttempt: AttemptReader): DeliveryAttempt | undefined {
  try {
    return readAttempt(record);
  } catch {
    return undefined;
  }
}

/** After such an answer the gateway gives up. */
function isFinal({ status }: DeliveryAttempt): boolean {
  return status !== undefined && !RETRYABLE_STATUSES.includes(status);
}

function isGivenUp(last: DeliveryAttempt, attempts: number, nowMs: number): boolean {
  const { at } = last;
  return isFinal(last) || attempts >= RETRIES.attempts || nowMs - at.getTime() > LONGEST_GAP_MS;
}
