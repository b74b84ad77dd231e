import { setImmediate as turn } from "node:timers/promises";
import { afterAll, afterEach, vi } from "vitest";
import { endHanging } from "./support/deferred.js";

// Vitest's setup file: runs for each test file. Files share a process, so each test leaves it as it was.
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  // Last, because mocks and stubs may stand for fake timers.
  vi.useRealTimers();
});

/** The real timers that this file has started and that are still pending. */
const pending = new Set<NodeJS.Timeout>();
const { setTimeout: start, clearTimeout: stop } = globalThis;
function startTracked(run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) {
  const timer = start(() => {
    pending.delete(timer);
    run(...args);
  }, ms);
  pending.add(timer);
  return timer;
}
Object.defineProperties(startTracked, Object.getOwnPropertyDescriptors(start));
globalThis.setTimeout = startTracked as typeof start;
globalThis.clearTimeout = (timer) => {
  pending.delete(timer as NodeJS.Timeout);
  stop(timer);
};
// A receiver whose store fails repeats its calls in the background. In the next file they would count as fake timers.
afterAll(async () => {
  endHanging();
  // What hung goes on now, and may start a timer too.
  await turn();
  for (const timer of pending) if (!timer.hasRef()) stop(timer);
  globalThis.setTimeout = start;
  globalThis.clearTimeout = stop;
});
