import { expect } from "vitest";
import { memoryStore } from "../../../src/index.js";
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
    driver,
    store: memoryStore(),
    logger: false,
    concurrency: AT_ONCE,
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
