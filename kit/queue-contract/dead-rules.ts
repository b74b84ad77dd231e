import { isDeepStrictEqual } from "node:util";
import type { InboxJob } from "../../src/inbox/inbox-job.js";
import { ensure, type QueueClient, type QueueClients, type QueueRule } from "./queue-clients.js";

const error = new Error("a made-up failure");
const isJudged: QueueRule["isJudged"] = ({ driver }) =>
  driver.list === undefined ? "the driver lists no dead jobs" : undefined;

/** Puts a job and lets it die. */
async function buried(clients: QueueClients): Promise<{ job: InboxJob; first: QueueClient }> {
  const { job, first, message } = await clients.take();
  ensure(await first.settle(message, { result: "dead", error }), "dead must be taken");
  return { job, first };
}

async function idsOf({ made }: QueueClients): Promise<readonly string[]> {
  return ((await made.driver.list?.()) ?? []).map(({ id }) => id);
}

/** What becomes of dead jobs. */
export const deadRules: Readonly<Record<string, QueueRule>> = {
  dead: {
    title: "a dead job does not come again",
    async check(clients) {
      const { first } = await buried(clients);
      await clients.quiet(first, 3, "a dead job must not come again");
    },
  },
  "dead-listed": {
    title: "a dead job is listed with its id, type, attempts and error, and without its body",
    isJudged,
    async check(clients) {
      const { job } = await buried(clients);
      const listed = (await clients.made.driver.list?.()) ?? [];
      const [dead] = listed;
      ensure(listed.length === 1 && dead?.id === job.id, "the dead job must be listed", listed);
      ensure(dead?.type === job.type, "its type must be listed", dead?.type);
      ensure(dead?.attempts === 1, "its attempts must be listed", dead?.attempts);
      ensure(String(dead?.error).includes("made-up"), "its error must be listed", dead?.error);
      ensure(!JSON.stringify(listed).includes(job.body), "its body must not be listed");
    },
  },
  "dead-replay": {
    title: "a replayed job comes whole, with all its attempts, and is replayed once",
    isJudged,
    async check(clients) {
      const { job, first } = await buried(clients);
      const { replayed = [] } = (await clients.made.driver.replay?.([job.id])) ?? {};
      ensure(replayed.includes(job.id), "a dead job can be replayed", replayed);
      const again = await clients.made.driver.replay?.([job.id]);
      ensure(again?.notFound.includes(job.id) === true, "it is replayed once", again);
      const message = await first.next("a replayed job must come");
      ensure(isDeepStrictEqual(message.data, job), "a replayed job must come out whole");
      ensure(message.attempt === 1, "a replayed job has all its attempts", message.attempt);
      ensure((await idsOf(clients)).length === 0, "a replayed job is not dead any more");
    },
  },
  "dead-growing": {
    title: "a growing replay runs 1 job, then 5, and stops at a failure",
    isJudged,
    async check(clients) {
      const { driver } = clients.made;
      const first = clients.first();
      for (let n = 0; n < 8; n += 1) {
        await clients.put();
        const message = await first.next("a job that is put must come");
        await first.settle(message, { result: "dead", error });
      }
      const groupTimeoutMs = 10 * clients.holdMs;
      const replaying = driver.replay?.("all", { growing: true, groupTimeoutMs });
      replaying?.catch(() => undefined);
      for (const size of [1, 5]) {
        const before = first.received.length;
        const messages = [];
        for (let n = 0; n < size; n += 1) messages.push(await first.next("a group must come"));
        await clients.wait(1 / 2);
        const count = first.received.length - before;
        ensure(count === size, `a group of ${size} must wait for its end`, count);
        for (const [n, message] of messages.entries()) {
          const failed = { result: "retry", afterMs: 600_000, error } as const;
          await first.settle(message, n === 4 ? failed : { result: "done" });
        }
      }
      const { replayed, stopped } = (await replaying) ?? {};
      const counts = [replayed?.length, stopped?.ids.length, stopped?.notReplayed.length];
      const isRight = stopped?.reason === "failed" && isDeepStrictEqual(counts, [6, 1, 2]);
      ensure(isRight, "a growing replay must stop at the job that failed", [counts, stopped]);
    },
  },
  "dead-discard": {
    title: "a discarded job is gone",
    isJudged,
    async check(clients) {
      const { job, first } = await buried(clients);
      const { discarded = [] } = (await clients.made.driver.discard?.([job.id])) ?? {};
      ensure(discarded.includes(job.id), "a dead job can be discarded", discarded);
      ensure((await idsOf(clients)).length === 0, "a discarded job is not dead any more");
      await clients.quiet(first, 2, "a discarded job must not come again");
    },
  },
  "dead-live": {
    title: "replay and discard touch no job that runs",
    isJudged,
    async check(clients) {
      const { driver } = clients.made;
      const { job, first, message } = await clients.take();
      const { id } = job;
      const [replay, discard] = [await driver.replay?.([id]), await driver.discard?.([id])];
      const isUntouched = replay?.replayed.length === 0 && discard?.discarded.length === 0;
      ensure(isUntouched, "a job that runs is not dead", [replay, discard]);
      await clients.hold(message, 1 / 4, "a message is held for a while");
      ensure(first.received.length === 1, "a job that runs must not come again");
      ensure(await first.settle(message, { result: "done" }), "done must be taken");
    },
  },
};
