import { expect, test } from "vitest";
import type { DeliveryContext, UnrecognizedDelivery } from "../../src/index.js";
import { alarm, alarmBody, delivery, NOW_MS, onlineDataEvent } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** The arguments that `handlers.unrecognized` receives for a body. */
async function unrecognizedOf(type: string, body: string) {
  const taken: UnrecognizedDelivery[] = [];
  const { receive } = recordingReceiver({
    handlers: {
      delete_my_data_event: { DATA_DELETED: () => undefined },
      unrecognized: (unrecognized) => taken.push(unrecognized),
    },
  });
  const answer = await receive(await delivery({ type, body }));
  expect(answer).toMatchObject({ status: 200, outcome: "handled" });
  expect(taken).toHaveLength(1);
  return taken[0];
}

const alarmIssues = async (overrides: Record<string, unknown>) =>
  (await unrecognizedOf("new_alarm", alarmBody(overrides)))?.issues;

const BEYOND = "expected no integer beyond 2^53 - 1, since its last digits are lost";

// Those of events are the issues of the schemas: `schemas.test.ts` compares both.
test.each<[string, unknown, string]>([
  ["id", "x", "expected an integer"],
  ["id", 1.5, "expected an integer"],
  ["category_id", undefined, "expected an integer"],
  ["text", undefined, "expected a string"],
  ["text", null, "expected a string"],
  ["payload", { k: 1 }, "expected a string"],
  ["account_id", 2 ** 53, BEYOND],
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

const CANARY = "canary-19121212-1212";
const record = Object.fromEntries(
  Object.keys(alarm()).map((field) => [field, { [CANARY]: CANARY }]),
);

test.each([
  ["not JSON", "new_alarm", CANARY],
  ["not an object", "new_alarm", JSON.stringify(CANARY)],
  ["unknown keys", "new_alarm", JSON.stringify({ [CANARY]: CANARY })],
  ["wrong alarm fields", "new_alarm", JSON.stringify({ alarm: record })],
  [
    "wrong event fields",
    "delete_my_data_event",
    JSON.stringify({ event: { ...record, type: "DATA_DELETED" } }),
  ],
  [
    "an unknown event type",
    "delete_my_data_event",
    JSON.stringify({ event: onlineDataEvent(CANARY) }),
  ],
])("issues hold no value of the body: %s", async (_, type, body) => {
  const { issues = [] } = (await unrecognizedOf(type, body)) ?? {};
  expect(issues.length).toBeGreaterThan(0);
  expect(JSON.stringify(issues)).not.toContain(CANARY);
});

test("handlers.unrecognized receives a body that is not JSON, with its issues", async () => {
  expect(await unrecognizedOf("new_alarm", "not json")).toEqual({
    type: "new_alarm",
    body: undefined,
    issues: [{ path: [], message: "expected JSON in UTF-8" }],
  });
});

test.each([
  ["5", "expected an object"],
  ["null", "expected an object"],
  ["[]", "expected alarm or event"],
  ['{"alarm":{},"event":{}}', "expected alarm or event, not both"],
])("handlers.unrecognized learns what was expected in place of %s", async (body, message) => {
  expect(await unrecognizedOf("new_alarm", body)).toMatchObject({
    body: JSON.parse(body) as unknown,
    issues: [{ path: [], message }],
  });
});

test("handlers.unrecognized receives the whole body of an unknown webhook type", async () => {
  const body = { report: { id: 12, tags: [1, "b"] } };
  expect(await unrecognizedOf("added_later", JSON.stringify(body))).toEqual({
    type: "added_later",
    body,
    issues: [{ path: [], message: "expected alarm or event" }],
  });
});

test("handlers.unrecognized receives an invalid record without conversion, with its issues", async () => {
  const body = { alarm: alarm({ id: "17", account_id: null }), extra: 1 };
  expect(await unrecognizedOf("new_alarm", JSON.stringify(body))).toEqual({
    type: "new_alarm",
    body,
    issues: [{ path: ["alarm", "account_id"], message: "expected an integer" }],
  });
});

test("handlers.unrecognized receives the context of the delivery", async () => {
  const contexts: DeliveryContext[] = [];
  const { receive } = recordingReceiver({
    handlers: { unrecognized: (_, context) => contexts.push(context) },
  });
  await receive(await delivery({ id: "d-1", type: "added_later", body: "not json" }));
  expect(contexts).toMatchObject([
    { id: "d-1", type: "added_later", timestamp: new Date(NOW_MS), takeover: false },
  ]);
  expect(contexts[0]?.rawBody).toEqual(new TextEncoder().encode("not json"));
});

test("without handlers.unrecognized, each attempt is answered 503, and the log names the wrong field", async () => {
  const { receive, lines } = recordingReceiver();
  const body = alarmBody({ account_id: null });
  for (let attempt = 0; attempt < 2; attempt++) {
    const answer = await receive(await delivery({ body }));
    expect(answer).toMatchObject({ status: 503, outcome: "unrecognized" });
  }
  expect(lines.map(({ message }) => message)).toEqual([
    expect.stringMatching(/alarm\.account_id: expected an integer.*handlers\.unrecognized/),
  ]);
});
