// An inbox on graphile-worker: give the runner `taskList`. A retry is a new job, so that inboxConsume decides its delay.
import { memoryStore } from "identity-gateway-webhooks";
import { inboxConsume, type InboxJob } from "identity-gateway-webhooks/inbox";

type AddJob = (task: string, payload: object, options?: { runAt?: Date }) => Promise<unknown>;
declare const addJob: AddJob; // of makeWorkerUtils

export const driver = {
  extends: "connection" as const, // the job is locked for four hours
  put: (job: InboxJob) => addJob("delivery", { job, failed: 0 }),
};
const worker = inboxConsume({
  driver,
  store: memoryStore(), // in production one that all workers share
  handlers: { new_alarm: (alarm) => console.log(alarm.id) },
});
export const taskList = {
  async delivery(
    { job, failed }: { job: unknown; failed: number },
    helpers: { job: { id: string } },
  ) {
    const end = { isSettled: false };
    await worker.run({
      id: helpers.job.id,
      data: job,
      attempt: failed + 1,
      async settle(settlement) {
        if (settlement.result === "retry") {
          const payload = { job, failed: settlement.error === undefined ? failed : failed + 1 };
          const runAt = new Date(Date.now() + settlement.afterMs);
          await addJob("delivery", payload, { runAt });
        } else if (settlement.result === "dead") {
          await addJob("dead_delivery", { job, error: settlement.error.message }); // no worker takes it
        }
        return (end.isSettled = true);
      },
    });
    if (!end.isSettled) throw new Error("not settled");
  },
};
