import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alarm, delivery, eventDelivery, onlineDataEvent } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const INTEGER_FIELDS = ["id", "account_id", "category_id"];
const TEXT_FIELDS = Object.keys(alarm()).filter((field) => !INTEGER_FIELDS.includes(field));

async function receiveBody(body: string) {
  const { receive, handled } = recordingReceiver();
  const { outcome } = await receive(await delivery({ body }));
  return { outcome, handled };
}

const receiveAlarm = (overrides: Record<string, unknown>) =>
  receiveBody(JSON.stringify({ alarm: alarm(overrides) }));

/** An alarm with a field as it stands in JSON text, so that no number is rounded on the way. */
const receiveAlarmText = (field: string, json: string) => {
  const marked = JSON.stringify({ alarm: alarm({ [field]: "@@" }) });
  return receiveBody(marked.replace('"@@"', () => json));
};

describe("what legacy formats vary is converted", () => {
  test.each(INTEGER_FIELDS)("%s from its digits", async (field) => {
    const { handled } = await receiveAlarm({ [field]: "17" });
    expect(handled).toEqual([alarm({ [field]: 17 })]);
  });

  test.each([
    ["0", 0],
    ["-5", -5],
    ["007", 7],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["-9007199254740991", Number.MIN_SAFE_INTEGER],
  ])("an integer from the text %j", async (text, number) => {
    expect((await receiveAlarm({ account_id: text })).handled).toEqual([
      alarm({ account_id: number }),
    ]);
  });

  test.each(TEXT_FIELDS)("%s from a number", async (field) => {
    const { handled } = await receiveAlarm({ [field]: 17 });
    expect(handled).toEqual([alarm({ [field]: "17" })]);
  });

  test.each([
    ["0", "0"],
    ["-5", "-5"],
    ["1.5", "1.5"],
    ["9007199254740991", "9007199254740991"],
  ])("a text from the number %s", async (json, text) => {
    const { handled } = await receiveAlarmText("original_event_id", json);
    expect(handled).toEqual([alarm({ original_event_id: text })]);
  });

  test("every field of an event", async () => {
    const { receive, handled } = recordingReceiver();
    const event = { account_id: "42", client_id: 9, site_id: "7", site_name: 8, occurred_at: 1 };
    await receive(await eventDelivery("DATA_DELETED", { event }));
    expect(handled).toEqual([
      onlineDataEvent("DATA_DELETED", {
        account_id: 42,
        client_id: "9",
        site_id: 7,
        site_name: "8",
        occurred_at: "1",
      }),
    ]);
  });

  test("as a property: any safe integer, as a number or as digits, in either kind of field", async () => {
    await fc.assert(
      fc.asyncProperty(fc.maxSafeInteger(), async (number) => {
        const sent = { account_id: String(number), original_event_id: number };
        expect((await receiveAlarm(sent)).handled).toEqual([
          alarm({ account_id: number, original_event_id: String(number) }),
        ]);
      }),
      { seed: 20_260_708, numRuns: 100 },
    );
  });
});

describe("what would be lost in conversion is refused", () => {
  test.each([
    "12345678901234567890",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "1e400",
    "-1e400",
    "1e21",
  ])("the number %s in a field of text", async (json) => {
    const result = await receiveAlarmText("original_event_id", json);
    expect(result).toEqual({ outcome: "unrecognized", handled: [] });
  });

  test.each([
    "9007199254740993",
    '"9007199254740992"',
    '"9007199254740993"',
    '"12345678901234567890"',
    '"1.0"',
    '"1e3"',
    '"0x10"',
    '" 1"',
    '"1 "',
    '"+1"',
    '""',
    '"\uff11"',
    "1.5",
    "true",
    "null",
    "[1]",
    "{}",
  ])("%s in a field of integers", async (json) => {
    const result = await receiveAlarmText("account_id", json);
    expect(result).toEqual({ outcome: "unrecognized", handled: [] });
  });

  test.each(["true", "null", "[]", "{}", '["a"]'])("%s in a field of text", async (json) => {
    const result = await receiveAlarmText("text", json);
    expect(result).toEqual({ outcome: "unrecognized", handled: [] });
  });
});
