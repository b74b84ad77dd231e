import type { WireRequest } from "../sending/wire.js";
import { buildRequest, makeAttempt, type AttemptTools, type PlannedDelivery } from "./attempt.js";
import { endAfter, type UnlistedStatusRule } from "./attempt-result.js";
import { gapMs, type RetrySchedule } from "./retry-schedule.js";
import type { Semaphore } from "../../src/common/semaphore.js";
import { reasonOf, type TwinAttempt, type TwinDelivery, type TwinEnd } from "./twin-delivery.js";

/** What a delivery needs from the twin. */
export interface DeliveryTools extends Omit<AttemptTools, "requestAt"> {
  readonly schedule: RetrySchedule;
  readonly unlistedStatus: UnlistedStatusRule;
  readonly refreshTimestamp: boolean;
  /** Waits on the twin's clock. Resolves early when the twin is stopped. */
  readonly pause: (ms: number) => Promise<void>;
}

/**
 * Sends a delivery until it ends.
 *
 * @param concurrency Limits the attempts under way. A delivery that waits for its next attempt does not
 *   count.
 */
export async function deliverWithRetries(
  delivery: PlannedDelivery,
  concurrency: Semaphore | undefined,
  tools: DeliveryTools,
): Promise<TwinDelivery> {
  const { schedule, unlistedStatus, refreshTimestamp, pause, isStopped } = tools;
  const { id, type, webhook, random } = delivery;
  const attempts: TwinAttempt[] = [];
  let last: TwinAttempt | undefined;
  let built: Promise<WireRequest> | undefined;
  const requestAt = (now: number): Promise<WireRequest> => {
    if (built === undefined || refreshTimestamp) built = buildRequest(delivery, now);
    return built;
  };

  const ended = (end: TwinEnd): TwinDelivery => ({
    id,
    type,
    webhook: webhook.title,
    end,
    ...(last?.status === undefined ? {} : { status: last.status }),
    reason: reasonOf(end, last),
    attempts,
  });

  for (let number = 1; number <= schedule.attempts; number++) {
    const waitedMs = number === 1 ? 0 : gapMs(schedule, number - 1, random);
    if (waitedMs > 0) await pause(waitedMs);

    const attempt = async (): Promise<TwinEnd | undefined> => {
      if (isStopped()) return "stopped";
      const records = await makeAttempt(delivery, number, waitedMs, { ...tools, requestAt });
      const [first] = records;
      if (first === undefined) return "stopped";
      attempts.push(...records);
      last = first;
      return endAfter(last.result, unlistedStatus) ?? (isStopped() ? "stopped" : undefined);
    };
    const end = await (concurrency === undefined ? attempt() : concurrency.run(attempt));
    if (end !== undefined) return ended(end);
  }
  return ended("exhausted");
}
