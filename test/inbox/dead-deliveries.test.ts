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
});

/** The methods of a queue with these dead jobs. `onList` is called before each page is read. */
function deadQueue(jobs: DeadJob[], onList: (offset: number) => void = () => undefined) {
  const take = (id: string): Promise<boolean> => {
    const at = jobs.findIndex((job) => job.id === id);
    if (at >= 0) jobs.splice(at, 1);
    return Promise.resolve(at >= 0);
  };
  const letters = deadLettersById({
    list(limit, offset) {
      onList(offset);
      return Promise.resolve(jobs.slice(offset, offset + limit));
    },
    replay: take,
    discard: take,
  });
  const driver: DeadDeliveries = deadDeliveriesOf("test", letters);
  return { driver, jobs };
}
