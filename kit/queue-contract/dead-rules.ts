import { isDeepStrictEqual } from "node:util";
import type { InboxJob } from "../../src/inbox/inbox-job.js";
import {
  BODY_MARK,
  ensure,
  FAILURE,
  madeJob,
  type QueueClient,
  type QueueClients,
  type QueueRule,
} from "./queue-clients.js";

const isJudged: QueueRule["isJudged"] = ({ driver }) =>
  driver.list === undefined ? "the driver lists no dead jobs" : undefined;

/** Puts a job and lets it die. */
async function buried(clients: QueueClients): Promise<{ job: InboxJob; first: QueueClient }> {
  const { job, first, message } = await clients.take();
  await first.bury(message);
  return { job, first };
}

/** Puts jobs and lets them die, one after the other. Resolves to their ids. */
async function buryEach(clients: QueueClients, first: QueueClient, jobs: number | InboxJob[]) {
  const ids: string[] = [];
  const given = typeof jobs === "number" ? Array.from({ length: jobs }, () => madeJob()) : jobs;
  for (const job of given) {
    ids.push((await clients.put(job)).id);
    const message = await first.next("a job that is put must come");
    await first.settle(message, { result: "dead", error: FAILURE });
    // Some engines order dead jobs by a clock.
    await clients.wait(1 / 20);
  }
  return ids;
}

async function finishReplayed(first: QueueClient, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await first.settle(await first.next("a replayed job must come"), { result: "done" });
  }
}

async function idsOf({ made }: QueueClients): Promise<readonly string[]> {
  return ((await made.driver.list?.()) ?? []).map(({ id }) => id);
}

/** What becomes of dead jobs. */
export const deadRules: Readonly<Record<string, QueueRule>> = {
  "dead-put": {
    title: "a job of a delivery whose job is dead is put again, or refused",
    async check(clients) {
      const { job, first } = await buried(clients);
      try {
        await clients.put(job);
      } catch {
        return;
      }
      const rule = "put must not resolve for a delivery whose only job is dead";
      const message = await first.next(rule);
      ensure(isDeepStrictEqual(message.data, job), "a job that is put again must come out whole");
      ensure(message.attempt === 1, "it has all its attempts", message.attempt);
      await first.settle(message, { result: "done" });
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
      ensure(!JSON.stringify(listed).includes(BODY_MARK), "its body must not be listed");
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
  "dead-max": {
    title: "a replay of all takes no more than its most, the oldest first, and the rest stay dead",
    isJudged,
    async check(clients) {
      const { driver } = clients.made;
      const first = clients.first();
      const ids = await buryEach(clients, first, 3);
      const { replayed, notFound } = (await driver.replay?.("all", { max: 2 })) ?? {};
      const isRight = isDeepStrictEqual([replayed, notFound], [ids.slice(0, 2), []]);
      ensure(isRight, "the two oldest of three must be replayed", replayed);
      const rest = await idsOf(clients);
      ensure(isDeepStrictEqual(rest, ids.slice(2)), "the third must stay dead", rest);
      await finishReplayed(first, 2);
    },
  },
  "dead-together": {
    title: "two calls at once replay each job once, and no job that is still dead is not found",
    isJudged,
    async check(clients) {
      const { driver } = clients.made;
      const first = clients.first();
      const ids = await buryEach(clients, first, 4);
      const halves = [ids.slice(0, 2), ids.slice(2)];
      const both = await Promise.all(halves.map(async (half) => driver.replay?.(half)));
      const isRight = both.every((one, n) => {
        const isSame = isDeepStrictEqual(new Set(one?.replayed), new Set(halves[n]));
        return isSame && one?.notFound.length === 0;
      });
      ensure(isRight, "each call must find the jobs that it names", both);
      await finishReplayed(first, 4);
      ensure((await idsOf(clients)).length === 0, "a replayed job is not dead any more");
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
  "dead-account": {
    title: "all dead jobs of an account can be discarded, and no others",
    isJudged,
    async check(clients) {
      const { driver } = clients.made;
      const jobs = [1, 2, 1].map((account_id) => {
        return { ...madeJob(), body: JSON.stringify({ alarm: { account_id } }) };
      });
      const [one, other, last] = await buryEach(clients, clients.first(), jobs);
      const { discarded = [] } = (await driver.discard?.({ accountId: 1 })) ?? {};
      const isRight = isDeepStrictEqual(new Set(discarded), new Set([one, last]));
      ensure(isRight, "the jobs of the account are discarded", discarded);
      const isOther = isDeepStrictEqual(await idsOf(clients), [other]);
      ensure(isOther, "the job of another account is dead");
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
      await first.done(message);
    },
  },
};
