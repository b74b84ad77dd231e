import { setTimeout as wait } from "node:timers/promises";

/**
 * What `open` opens, tried again while the file is locked: another receiver that is stopped in the middle
 * of a write holds the lock, and the store gives up after five seconds. A supervisor would start the
 * process again.
 */
export async function whenOpen<T>(open: () => T): Promise<T> {
  for (;;) {
    try {
      return open();
    } catch (error) {
      const { code } = Object(error) as { code?: unknown };
      if (code !== "SQLITE_BUSY") throw error;
      await wait(100);
    }
  }
}
