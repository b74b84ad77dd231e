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
afterAll(endHanging);
