import type { ReceiverConfig } from "./receiver-config.js";

/** Whether the whole process has another time, or only the receiver (`now`). */
export function isProcessOff({ setup, clockOffMs }: ReceiverConfig): boolean {
  // BullMQ itself stamps delays with the clock of its processes, which have to agree.
  return clockOffMs !== 0 && setup !== "inbox-bullmq";
}

/** The times and bounds of a receiver. */
export function receiverTimes(config: ReceiverConfig) {
  const offMs = isProcessOff(config) ? 0 : config.clockOffMs;
  return {
    leaseMs: config.holdMs,
    handlerTimeoutMs: 4_000,
    dependencyTimeoutMs: 700,
    // At the default, a receiver that is an hour off refuses all that is fresh, and shows nothing more.
    timestampToleranceMs: 7_200_000,
    now: () => Date.now() + offMs,
    ...config.options,
  };
}
