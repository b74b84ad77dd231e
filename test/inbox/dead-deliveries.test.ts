import { describe, expect, it } from "vitest";
import {
  deadDeliveriesOf,
  deadLettersById,
  type DeadDeliveries,
  type DeadJob,
} from "../../src/inbox/dead-deliveries.js";
import { alarm } from "../support/deliveries.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";

/** A dead job of an account, in a list of dead jobs. */
async function deadJob(id: string, account_id: unknown): Promise<DeadJob> {
  const body = JSON.stringify({ alarm: { ...alarm(), account_id } });
  const data = { ...(await alarmJob(id)), body };
  return { id, type: "new_alarm", attempts: 1, failedAt: new Date(0), error: "Error", data };
}

/** So many dead jobs of the account 42. Their ids are numbers from 0 on. */
async function deadJobs(count: number): Promise<DeadJob[]> {
  const job = await deadJob("0", 42);
  return Array.from({ length: count }, (_, n) => ({ ...job, id: String(n) }));
}

describe("discard of an account", () => {
  it.each<[string, unknown, boolean]>([
    ["a number", 42, true],
    ["digits", "42", true],
    ["digits with leading zeros", "0042", true],
    ["another number", 7, false],
    ["a number with a fraction", 42.5, false],
    ["more digits than the receiver reads", "00000000000000042", false],
    ["digits in a list", ["42"], false],
  ])("compares as the receiver reads the account: %s", async (_, account, isFound) => {
    const { driver } = deadQueue([await deadJob("one", account)]);
    const { discarded } = await driver.discard({ accountId: 42 });
    expect(discarded).toEqual(isFound ? ["one"] : []);
  });

  it("reads on after a page that is not full, as an engine gives if a job is removed meanwhile", async () => {
    const isLeft = ({ id }: DeadJob) => id !== "3";
    const { driver } = deadQueue(await deadJobs(1_002), undefined, isLeft);
    const { discarded } = await driver.discard({ accountId: 42 });
    expect(discarded).toHaveLength(1_001);
  });

  it("finds the jobs that a replay moves to a page that was read already", async () => {
    const made = deadQueue(await deadJobs(1_002), (offset) => {
      if (offset === 1_000 && made.jobs.length > 1_000) made.jobs.splice(0, 500);
    });
    const { discarded } = await made.driver.discard({ accountId: 42 });
    expect(discarded.slice(-2)).toEqual(["1000", "1001"]);
    expect(made.jobs).toEqual([]);
  });

  it("ends although new jobs of the account die all the time", async () => {
    const { driver, jobs } = deadQueue(await deadJobs(1), (offset) => {
      const [first] = jobs;
      if (offset === 0 && first !== undefined) jobs.push({ ...first, id: String(jobs.length) });
    });
    const { discarded } = await driver.discard({ accountId: 42 });
    expect(discarded.length).toBeGreaterThan(1);
  });
});

it("a replay of all replays those that another operator's replay moves to a page that was read already", async () => {
  const made = deadQueue(await deadJobs(400), () => {
    // Those that this call has read, and has not come to.
    if (made.jobs.length === 400) queueMicrotask(() => made.jobs.splice(0, 50));
  });
  const { replayed } = await made.driver.replay("all");
  expect([replayed.length, made.jobs]).toEqual([350, []]);
});

/** The methods of a queue with these dead jobs. `onList` is called before each page is read, which has the `isShown`. */
function deadQueue(
  jobs: DeadJob[],
  onList: (offset: number) => void = () => undefined,
  isShown: (job: DeadJob) => boolean = () => true,
) {
  const take = (id: string): Promise<boolean> => {
    const at = jobs.findIndex((job) => job.id === id);
    if (at >= 0) jobs.splice(at, 1);
    return Promise.resolve(at >= 0);
  };
  const letters = deadLettersById({
    list(limit, offset) {
      onList(offset);
      return Promise.resolve(jobs.slice(offset, offset + limit).filter(isShown));
    },
    replay: take,
    discard: take,
  });
  const driver: DeadDeliveries = deadDeliveriesOf("test", letters);
  return { driver, jobs };
}
