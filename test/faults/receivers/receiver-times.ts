import type { ReceiverConfig } from "./receiver-config.js";

/** Whether the clock of the whole process is wrong, or only that of the receiver (`now`). */
export function isProcessOff({ setup, clockOffMs }: ReceiverConfig): boolean {
  // BullMQ and the DynamoDB store go by the clocks of their processes, which must agree.
  return clockOffMs !== 0 && setup !== "inbox-bullmq" && setup !== "lease-dynamodb";
}

/** The time options and limits of a receiver. */
export function receiverTimes(config: ReceiverConfig) {
  const offMs = isProcessOff(config) ? 0 : config.clockOffMs;
  return {
    leaseMs: config.holdMs,
    handlerTimeoutMs: 4_000,
    dependencyTimeoutMs: 700,
    // With the default, a receiver that is an hour off would refuse every fresh delivery.
    timestampToleranceMs: 7_200_000,
    now: () => Date.now() + offMs,
    ...config.options,
  };
}
