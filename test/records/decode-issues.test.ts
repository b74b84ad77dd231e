import { describe, expect, test } from "vitest";
import type { UnrecognizedDelivery } from "../../src/index.js";
import { alarm, delivery, onlineDataEvent } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** The issues of a body that `handlers.unrecognized` receives. */
async function issuesOf(type: string, body: string) {
  const taken: UnrecognizedDelivery[] = [];
  const { receive } = recordingReceiver({
    handlers: { unrecognized: (unrecognized) => taken.push(unrecognized) },
  });
  const answer = await receive(await delivery({ type, body }));
  expect(answer.outcome).toBe("handled");
  return taken[0]?.issues;
}

const alarmIssues = (overrides: Record<string, unknown>) =>
  issuesOf("new_alarm", JSON.stringify({ alarm: alarm(overrides) }));

const eventIssues = (type: string, overrides: Record<string, unknown> = {}) =>
  issuesOf("delete_my_data_event", JSON.stringify({ event: onlineDataEvent(type, overrides) }));

const BEYOND = "expected no integer beyond 2^53 - 1, since its last digits are lost";

describe("the issues of a record", () => {
  test.each([
    ["id", "x", "expected an integer"],
    ["id", 1.5, "expected an integer"],
    ["account_id", 2 ** 53, BEYOND],
    ["category_id", undefined, "expected an integer"],
    ["text", undefined, "expected a string"],
    ["text", null, "expected a string"],
    ["payload", { k: 1 }, "expected a string"],
    ["account_id", "9007199254740993", BEYOND],
    ["original_event_id", 2 ** 53, BEYOND],
  ])(
    "issues name the field and the reason for an alarm whose %s is %j",
    async (field, value, message) => {
      expect(await alarmIssues({ [field]: value })).toEqual([{ path: ["alarm", field], message }]);
    },
  );

  test("issues name every wrong field and no other", async () => {
    const issues = await alarmIssues({ id: null, date: null, updated_at: [] });
    expect(issues?.map(({ path }) => path.join("."))).toEqual([
      "alarm.id",
      "alarm.date",
      "alarm.updated_at",
    ]);
  });

  test.each([
    ["site_id", null, "expected an integer"],
    ["site_name", null, "expected a string"],
    ["site_base_url", null, "expected a string"],
    ["site_id", undefined, "expected an integer"],
    ["occurred_at", null, "expected a string"],
    ["account_id", "many", "expected an integer"],
  ])(
    "issues name the field and the reason for a site event whose %s is %j",
    async (field, value, message) => {
      expect(await eventIssues("DATA_DELETED", { [field]: value })).toEqual([
        { path: ["event", field], message },
      ]);
    },
  );

  test("issues name each missing site field of a site event", async () => {
    const none = { site_id: null, site_name: null, site_base_url: null };
    expect(await eventIssues("DATA_REAPPEARED", none)).toEqual([
      { path: ["event", "site_id"], message: "expected an integer" },
      { path: ["event", "site_name"], message: "expected a string" },
      { path: ["event", "site_base_url"], message: "expected a string" },
    ]);
  });

  test.each([
    ["site_id", 7],
    ["site_name", "Example Broker"],
    ["site_base_url", "https://broker.example"],
  ])(
    "issues name the field and the reason for a POWER_OF_ATTORNEY_SIGNED event with a %s",
    async (field, value) => {
      expect(await eventIssues("POWER_OF_ATTORNEY_SIGNED", { [field]: value })).toEqual([
        { path: ["event", field], message: "expected null" },
      ]);
    },
  );

  test("issues name the field and the reason for an event of an unknown type", async () => {
    expect(await eventIssues("DATA_MOVED", { account_id: null, site_id: "x" })).toEqual([
      { path: ["event", "account_id"], message: "expected an integer" },
      { path: ["event", "site_id"], message: "expected an integer" },
    ]);
  });

  test.each([{}, null, [], true, undefined])(
    "issues name the type of an event whose type is %j",
    async (type) => {
      expect(await eventIssues("DATA_DELETED", { type })).toContainEqual({
        path: ["event", "type"],
        message: "expected a string",
      });
    },
  );

  test.each(["[]", "null", '"text"', "5"])("issues name the record if it is %s", async (json) => {
    const asAlarm = await issuesOf("new_alarm", `{"alarm":${json}}`);
    expect(asAlarm).toEqual([{ path: ["alarm"], message: "expected an object" }]);
    const asEvent = await issuesOf("delete_my_data_event", `{"event":${json}}`);
    expect(asEvent).toEqual([{ path: ["event"], message: "expected an object" }]);
  });
});

describe("issues and log", () => {
  const CANARY = "canary-19121212-1212";
  const record = Object.fromEntries(
    Object.keys(alarm()).map((field) => [field, { [CANARY]: CANARY }]),
  );

  test.each([
    ["not JSON", "new_alarm", CANARY],
    ["cut-off JSON", "new_alarm", `{"alarm":"${CANARY}`],
    ["not an object", "new_alarm", JSON.stringify(CANARY)],
    ["unknown keys", "new_alarm", JSON.stringify({ [CANARY]: CANARY })],
    ["wrong alarm fields", "new_alarm", JSON.stringify({ alarm: record })],
    [
      "wrong event fields",
      "delete_my_data_event",
      JSON.stringify({ event: { ...record, type: "DATA_DELETED" } }),
    ],
    [
      "a wrong event type",
      "delete_my_data_event",
      JSON.stringify({ event: { ...record, type: [CANARY] } }),
    ],
    [
      "an unknown event type",
      "delete_my_data_event",
      JSON.stringify({ event: onlineDataEvent(CANARY) }),
    ],
    [
      "wrong fields of an unknown event",
      "delete_my_data_event",
      JSON.stringify({ event: { ...record, type: CANARY } }),
    ],
  ])("issues and log hold no value of the body: %s", async (_, type, body) => {
    const issues: unknown[] = [];
    const eventMap = { DATA_DELETED: () => 0 };
    const quiet = recordingReceiver({
      handlers: { new_alarm: () => 0, delete_my_data_event: eventMap },
    });
    const request = await delivery({ type, body });
    const answer = await quiet.receive(request);
    expect(answer).toMatchObject({ status: 503, outcome: "unrecognized" });
    const taking = recordingReceiver({
      handlers: {
        delete_my_data_event: eventMap,
        unrecognized: (one) => issues.push(...one.issues),
      },
    });
    expect((await taking.receive(request)).outcome).toBe("handled");
    // A second one if something is not documented.
    const { lines } = quiet;
    expect(lines.filter(({ message }) => !message.includes("schema drift"))).toHaveLength(1);
    expect(issues.length).toBeGreaterThan(0);
    const shown = JSON.stringify([lines, issues, answer, quiet.reports, taking.reports]);
    expect(shown).not.toContain(CANARY);
  });
});
