import { afterAll, beforeAll } from "vitest";

/**
 * Starts something before all tests of a file or a `describe`, and closes it after them. Returns the function that
 * gives it to a test.
 */
export function startedForAll<T extends { readonly close: () => unknown }>(
  start: () => Promise<T>,
): () => T {
  let started: T | undefined;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(() => started?.close());
  return () => {
    if (started === undefined) throw new Error("only a test can use what is started for all");
    return started;
  };
}
