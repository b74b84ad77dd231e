import { RETRIES, RETRYABLE_STATUSES } from "../common/gateway-facts.js";
import type { AttemptReader, DeliveryAttempt } from "./attempt-reader.js";
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
 * The deliveries of a webhook whose last attempt was not before `since`; how many attempts there are, and how many
 * records say nothing. An attempt that is stored while pages are read moves others to the next page: the same record twice
 * is one attempt.
 */
export function attemptedDeliveries(
  { id: webhookId, type }: Webhook,
  records: readonly unknown[],
  {
    since,
    readAttempt,
    nowMs,
  }: { readonly since: Date; readonly readAttempt: AttemptReader; readonly nowMs: number },
): {
  readonly deliveries: readonly AttemptedDelivery[];
  readonly attempts: number;
  readonly unreadable: number;
} {
  const byDelivery = new Map<string, DeliveryAttempt[]>();
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
    const others = byDelivery.get(attempt.deliveryId);
    if (others === undefined) byDelivery.set(attempt.deliveryId, [attempt]);
    else others.push(attempt);
  }
  const deliveries = [...byDelivery].flatMap(([deliveryId, attempts]) => {
    const last = attempts.reduce(later);
    const isAcknowledged = attempts.some(({ status = 0 }) => status >= 200 && status <= 299);
    if (last.at < since) return [];
    const withBody = attempts.find(({ body }) => body !== undefined);
    return [
      {
        deliveryId,
        type,
        webhookId,
        lastStatus: last.status,
        firstAt: attempts.reduce((one, other) => (other.at < one.at ? other : one)).at,
        lastAt: last.at,
        attempts: attempts.length,
        isAcknowledged,
        isGivenUp: isAcknowledged || isGivenUp(last, attempts.length, nowMs),
        body: withBody?.body,
        attemptId: last.attemptId,
      } satisfies AttemptedDelivery,
    ];
  });
  return { deliveries, attempts: known.size + unreadable, unreadable };
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

/** Of two attempts of the same second the second one in the list is the later. */
function later(one: DeliveryAttempt, other: DeliveryAttempt): DeliveryAttempt {
  return one.at > other.at ? one : other;
}

function isGivenUp({ status, at }: DeliveryAttempt, attempts: number, nowMs: number): boolean {
  const isFinal = status !== undefined && !RETRYABLE_STATUSES.includes(status);
  return isFinal || attempts >= RETRIES.attempts || nowMs - at.getTime() > LONGEST_GAP_MS;
}
