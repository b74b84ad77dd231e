import type { PgBossClient } from "../../../src/inbox/pg-boss/client.js";

/** A client with the methods that the driver calls, none of which does anything but those that are given. */
export function pgBossStub(own: Partial<PgBossClient> = {}): PgBossClient {
  const nothing = () => Promise.resolve();
  const affected = () => Promise.resolve({ affected: 1 });
  const none = () => Promise.resolve([]);
  return {
    createQueue: nothing,
    updateQueue: nothing,
    update: nothing,
    touch: affected,
    fail: affected,
    deleteJob: affected,
    fetch: none,
    findJobs: none,
    getQueueStats: none,
    send: () => Promise.resolve("3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
    redrive: () => Promise.resolve(0),
    ...own,
  };
}
