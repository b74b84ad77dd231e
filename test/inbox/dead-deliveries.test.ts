import { describe, expect, it, vi } from "vitest";
import {
  deadDeliveriesOf,
  deadLettersById,
  type DeadDeliveries,
  type DeadJob,
} from "../../src/inbox/dead-deliveries.js";
import type { InboxJob, InboxOverflow } from "../../src/inbox/index.js";
import { never } from "../support/deferred.js";
import { alarm } from "../support/deliveries.js";
import { alarmJob } from "../support/inbox/receiver-and-worker.js";

const CANARY = "19121212-1212";

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

/** So many dead jobs of the account 42 whose bodies are in an overflow. */
async function overflown(count: number) {
  const jobs = (await deadJobs(count)).map((job): DeadJob => {
    const data = { ...(job.data as InboxJob), id: job.id, encoding: "overflow", body: job.id };
    return { ...job, data: { ...data, account_id: 42 } };
  });
  const bodies = new Set(jobs.map(({ id }) => id));
  const put = () => Promise.resolve();
  const get = () => Promise.resolve(new Uint8Array());
  const remove = (key: string): Promise<unknown> => Promise.resolve(bodies.delete(key));
  return { jobs, bodies, overflow: { put, get, delete: remove } };
}

describe("discard of jobs whose bodies are in overflow", () => {
  it("tries to delete each body, and rejects with the keys of those that stay", async () => {
    const { jobs, bodies, overflow } = await overflown(50);
    const { driver } = deadQueue([...jobs]);
    const fails = new Set(["0", "30"]);
    const remove = (key: string) => {
      if (fails.has(key)) throw new Error(`the bucket is away: ${CANARY}`);
      return overflow.delete(key);
    };
    const discarding = driver.discard(
      { accountId: 42 },
      { overflow: { ...overflow, delete: remove } },
    );
    await expect(discarding).rejects.toMatchObject({
      code: "queue_failed",
      message:
        "overflow.delete: Error: the bucket is away; these bodies stay in overflow without a job: 0, 30",
    });
    expect([...bodies]).toEqual(["0", "30"]);
  });

  it("waits ten seconds for the delete of a body, as a worker does", async () => {
    vi.useFakeTimers();
    const { jobs, overflow } = await overflown(2);
    const { driver } = deadQueue(jobs);
    const remove = (key: string) => (key === "0" ? never() : overflow.delete(key));
    const discarding = driver.discard(["0", "1"], { overflow: { ...overflow, delete: remove } });
    const rejected = expect(discarding).rejects.toThrow(
      "overflow.delete took longer than 10000 ms; these bodies stay in overflow without a job: 0",
    );
    await vi.advanceTimersByTimeAsync(10_000);
    await rejected;
  });

  it.each<[string, (overflow: InboxOverflow) => object]>([
    ["without overflow", () => ({})],
    [
      "with an overflow that cannot delete",
      (given) => ({ overflow: { ...given, delete: undefined } }),
    ],
  ])("takes no job of an account %s", async (_, optionsOf) => {
    const { jobs, overflow } = await overflown(1);
    const made = deadQueue([await deadJob("small", 42), ...jobs]);
    await expect(made.driver.discard({ accountId: 42 }, optionsOf(overflow))).rejects.toMatchObject(
      {
        name: "ConfigurationError",
        message: expect.stringContaining("{ overflow }") as string,
      },
    );
    expect(made.jobs).toHaveLength(2);
  });

  it("takes the jobs of an account without overflow if only another account has a body there", async () => {
    const { jobs } = await overflown(1);
    const { driver } = deadQueue([await deadJob("small", 7), ...jobs]);
    const { discarded } = await driver.discard({ accountId: 7 });
    expect(discarded).toEqual(["small"]);
  });

  it("deletes the bodies of the jobs that were taken before the engine failed", async () => {
    const { jobs, bodies, overflow } = await overflown(3);
    const { driver } = deadQueue(jobs, undefined, undefined, (id) => {
      if (id === "1") throw new Error("away");
    });
    const discarding = driver.discard({ accountId: 42 }, { overflow });
    await expect(discarding).rejects.toThrow("test: Error: away");
    expect([...bodies]).toEqual(["1", "2"]);
  });

  it("deletes nothing by the engine's id of a job that the inbox did not make", async () => {
    const { overflow } = await overflown(0);
    const keys: string[] = [];
    const remove = (key: string) => Promise.resolve(keys.push(key));
    const { driver } = deadQueue([{ ...(await deadJob("a", 42)), id: "../a", data: "junk" }]);
    const { discarded } = await driver.discard(["../a"], {
      overflow: { ...overflow, delete: remove },
    });
    expect([discarded, keys]).toEqual([["../a"], []]);
  });
});

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

/** The methods of a queue with these dead jobs. `onList` is called before each page is read, which has the `isShown`; `onTake` before a job is taken. */
function deadQueue(
  jobs: DeadJob[],
  onList: (offset: number) => void = () => undefined,
  isShown: (job: DeadJob) => boolean = () => true,
  onTake: (id: string) => void = () => undefined,
) {
  const take = (id: string): Promise<boolean> => {
    onTake(id);
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
