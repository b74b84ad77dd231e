import { makeAttempt, type AttemptParts, type Journey } from "./attempt.js";
import type { WireRequest } from "../sending/wire.js";
import type { RetrySchedule } from "./retry-schedule.js";
import type { Slots } from "./slots.js";
import { reasonOf, type TwinAttempt, type TwinDelivery, type TwinEnd } from "./twin-delivery.js";
import { endAfter, type UnlistedStatusRule } from "./verdict.js";

/** What deliveries are run by. */
export interface RunRules extends AttemptParts {
  readonly schedule: RetrySchedule;
  readonly unlistedStatus: UnlistedStatusRule;
  readonly refreshTimestamp: boolean;
  /** Waits on the twin's clock; less where the run is stopped meanwhile. */
  readonly pause: (ms: number) => Promise<void>;
}

/** Sends a delivery until it ends. A slot is taken for an attempt, not for the wait between two. */
export async function runDelivery(
  journey: Journey,
  slots: Slots | undefined,
  rules: RunRules,
): Promise<TwinDelivery> {
  const { schedule, unlistedStatus, refreshTimestamp, pause, isStopped } = rules;
  const { id, type, webhook, random } = journey;
  const attempts: TwinAttempt[] = [];
  let last: TwinAttempt | undefined;
  let built: WireRequest | undefined;

  const ended = (end: TwinEnd): TwinDelivery => ({
    ...{ id, type, webhook: webhook.title, end },
    ...(last?.status === undefined ? {} : { status: last.status }),
    ...{ reason: reasonOf(end, last), attempts },
  });

  for (let number = 1; number <= schedule.attempts; number++) {
    const waitedMs = number === 1 ? 0 : schedule.gapMs(number - 1, random);
    if (waitedMs > 0) await pause(waitedMs);

    const attempt = async (): Promise<TwinEnd | undefined> => {
      if (isStopped()) return "stopped";
      const now = { number, waitedMs, ...(built === undefined ? {} : { built }) };
      const attempted = await makeAttempt(journey, now, rules);
      if (attempted === undefined) return "stopped";
      const { records, request } = attempted;
      if (!refreshTimestamp) built = request;
      attempts.push(...records);
      last = records[0];
      return endAfter(last.verdict, unlistedStatus) ?? (isStopped() ? "stopped" : undefined);
    };
    const end = await (slots === undefined ? attempt() : slots.run(attempt));
    if (end !== undefined) return ended(end);
  }
  return ended("exhausted");
}
