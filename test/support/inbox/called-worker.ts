import type { DeliveryStore } from "../../../src/index.js";
import {
  inboxConsume,
  type InboxConsumeOptions,
  type JobReport,
  type QueueSettlement,
} from "../../../src/inbox/index.js";

/** How a run ended: its report, and what the queue was given. */
export interface CalledRun extends Partial<JobReport> {
  readonly settlement: QueueSettlement | undefined;
}

/** A worker that a test calls with the data of jobs. Its store remembers nothing, so each call runs the handler. */
export function calledWorker(options: Omit<InboxConsumeOptions, "driver" | "store">) {
  let takeover = false;
  let report: JobReport | undefined;
  const store: DeliveryStore = {
    claim: () => ({ state: "claimed", takeover }),
    renew: () => true,
    complete: () => undefined,
    release: () => undefined,
  };
  const { run } = inboxConsume({
    ...options,
    driver: { extends: "never" },
    store,
    onJob(given) {
      report = given;
      return options.onJob?.(given);
    },
  });
  return async (data: unknown, given: { attempt?: number; takeover?: boolean } = {}) => {
    let settlement: QueueSettlement | undefined;
    takeover = given.takeover === true;
    report = undefined;
    const settle = (result: QueueSettlement) => Promise.resolve(((settlement = result), true));
    await run({ id: "unknown", data, attempt: given.attempt ?? 1, settle });
    return { ...(report as JobReport | undefined), settlement } satisfies CalledRun;
  };
}
