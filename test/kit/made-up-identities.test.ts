import { expect, test } from "vitest";
import { causesOf } from "../../cli/doctor/closing-report.js";
import { receiverConformance, runConformance, TEST_SECRET } from "../../kit/index.js";
import { createWebhookReceiver, type Alarm, type OnlineDataEvent } from "../../src/index.js";

/** An app with a table of alarms whose key is the alarm's id, and one of accounts that alarms and events refer to. */
function partnersApp(accounts: readonly number[]) {
  const alarms = new Map<number, Alarm>();
  const ids: string[] = [];
  const strangers: number[] = [];
  const refer = ({ account_id }: Alarm | OnlineDataEvent): void => {
    if (accounts.includes(account_id)) return;
    strangers.push(account_id);
    throw new Error("FOREIGN KEY constraint failed");
  };
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    onAuthenticDelivery: ({ id }) => void ids.push(id),
    handlers: {
      new_alarm: (alarm) => {
        refer(alarm);
        if (alarms.has(alarm.id)) throw new Error("UNIQUE constraint failed: alarms.id");
        alarms.set(alarm.id, alarm);
      },
      delete_my_data_event: refer,
    },
  });
  return { receiver, alarms, ids, strangers };
}

/** A receiver whose handlers throw. */
function throwing() {
  const fail = (): never => {
    throw new Error("FOREIGN KEY constraint failed");
  };
  const handlers = { new_alarm: fail, delete_my_data_event: fail };
  return createWebhookReceiver({ secret: TEST_SECRET, logger: false, handlers });
}

test("the advice on a receiver whose handler throws is about the handler and its log", async () => {
  const cases = receiverConformance({ target: throwing(), secret: TEST_SECRET });
  const { results } = await runConformance(cases);
  const failed = results.filter(({ result }) => result === "failed");
  expect(failed.map(({ id }) => id)).toContain("alarm");
  for (const { code, fix } of failed) {
    expect(code).toBe("receiver_failed");
    expect(fix).toMatch(/^Look into the log of the receiver, which answers handler_failed\. Usual/);
  }
  expect(causesOf(results)).toHaveLength(1);
});

test("what the options of the suite lack is known before a case runs", async () => {
  const cases = receiverConformance({ target: throwing(), secret: TEST_SECRET });
  const unmet = cases.filter(({ unmet }) => unmet !== undefined);
  expect(unmet.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["failure_sent_again", "late_handler_counts", "hang_up"]),
  );
  for (const one of unmet) {
    expect(await one.run()).toMatchObject({ result: "not_judged", need: one.unmet });
  }
});

test("a receiver whose tables have a primary key and a foreign key passes the conformance suite", async () => {
  const { receiver, alarms, ids, strangers } = partnersApp([7, 8]);
  const options = { target: receiver, secret: TEST_SECRET, accountIds: [7, 8] };
  const { results } = await runConformance(receiverConformance(options));

  const failed = results.filter(({ result }) => result === "failed");
  expect(failed.map(({ id, reason }) => `${id}: ${String(reason)}`)).toEqual([]);
  expect(alarms.size).toBeGreaterThan(100);
  expect(new Set(Array.from(alarms.values(), ({ account_id }) => account_id))).toEqual(
    new Set([7, 8]),
  );
  expect(ids.filter((id) => !id.startsWith("7e57da7a-"))).toEqual([]);
  // A low id may be that of a real alarm or customer.
  expect(strangers.filter((id) => id < 2 ** 31)).toEqual([]);
  expect([...alarms.keys()].filter((id) => id > 0 && id < 2_000_000_000)).toEqual([]);
});
