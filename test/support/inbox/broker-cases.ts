import { expect } from "vitest";
import { memoryStore } from "../../../src/index.js";
import type { DeadDeliveries } from "../../../src/inbox/dead-deliveries.js";
import { inboxConsume, type QueueDriver } from "../../../src/inbox/index.js";
import { deferred } from "../deferred.js";
import { alarmJob, settlesAt } from "./receiver-and-worker.js";

const AT_ONCE = 30;

/** A worker of 30 jobs at once makes Node warn of no leak. */
export async function warnsOfNoListeners(driver: QueueDriver<unknown>): Promise<void> {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", onWarning);
  const end = deferred<undefined>();
  let running = 0;
  // Makes the queue.
  await driver.waiting?.();
  const worker = inboxConsume({
    ...{ driver, store: memoryStore(), logger: false, concurrency: AT_ONCE },
    handlers: {
      async new_alarm() {
        running += 1;
        await end.promise;
        running -= 1;
      },
    },
  });
  for (let n = 0; n < AT_ONCE; n += 1) await driver.put(await alarmJob(`alarm-${n}`), undefined);
  await settlesAt(() => running, AT_ONCE);
  end.resolve(undefined);
  await settlesAt(() => running, 0);
  await worker.stop();
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
}

/** A growing replay stops at a job that the inbox did not make, and leaves the others dead. */
export async function growsToAStrangeJob(
  driver: QueueDriver<unknown> & DeadDeliveries,
  putStrange: (job: object) => PromiseLike<unknown>,
): Promise<void> {
  let dead = 0;
  await driver.waiting?.();
  const worker = inboxConsume({
    ...{ driver, store: memoryStore(), logger: false, retryLimit: 0 },
    handlers: { new_alarm: () => undefined },
    onJob: () => (dead += 1),
  });
  for (const version of [2, 3]) await putStrange({ version });
  await settlesAt(() => dead, 2);
  const [first, second] = (await driver.list()).map(({ id }) => id);
  expect(await driver.replay("all", { growing: true })).toEqual({
    ...{ replayed: [first], notFound: [] },
    stopped: { reason: "failed", ids: [first], notReplayed: [second] },
  });
  expect((await driver.list()).length).toBe(2);
  await worker.stop();
}
