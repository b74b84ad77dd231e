import { vi } from "vitest";

/** Lets so many milliseconds of the fake timers pass, and all promises settle that wait for nothing else. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}
