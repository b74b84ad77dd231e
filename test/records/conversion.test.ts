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

/** An alarm with a field as JSON text, so that no number is rounded before it is sent. */
const receiveAlarmText = (field: string, json: string) => {
  const marked = JSON.stringify({ alarm: alarm({ [field]: "@@" }) });
  return receiveBody(marked.replace('"@@"', () => json));
};

describe("values of legacy formats are converted", () => {
  test.each(INTEGER_FIELDS)(
    "the field %s is converted to an integer from its digits",
    async (field) => {
      const { handled } = await receiveAlarm({ [field]: "17" });
      expect(handled).toEqual([alarm({ [field]: 17 })]);
    },
  );

  test.each([
    ["0", 0],
    ["-5", -5],
    ["007", 7],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["-9007199254740991", Number.MIN_SAFE_INTEGER],
  ])("an integer field is converted from the text %j", async (text, number) => {
    expect((await receiveAlarm({ account_id: text })).handled).toEqual([
      alarm({ account_id: number }),
    ]);
  });

  test.each(TEXT_FIELDS)("the field %s is converted to text from a number", async (field) => {
    const { handled } = await receiveAlarm({ [field]: 17 });
    expect(handled).toEqual([alarm({ [field]: "17" })]);
  });

  test.each([
    ["0", "0"],
    ["-5", "-5"],
    ["1.5", "1.5"],
    ["9007199254740991", "9007199254740991"],
  ])("a text field is converted from the number %s", async (json, text) => {
    const { handled } = await receiveAlarmText("original_event_id", json);
    expect(handled).toEqual([alarm({ original_event_id: text })]);
  });

  test("every field of an event is converted", async () => {
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

  test("as a property, every safe integer is converted as a number or as digits, in both kinds of field", async () => {
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

describe("values that a conversion would change are refused", () => {
  test.each([
    "12345678901234567890",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "1e400",
    "-1e400",
    "1e21",
  ])("a text field refuses the number %s, which a conversion would change", async (json) => {
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
  ])("an integer field refuses %s", async (json) => {
    const result = await receiveAlarmText("account_id", json);
    expect(result).toEqual({ outcome: "unrecognized", handled: [] });
  });

  test.each(["true", "null", "[]", "{}", '["a"]'])("a text field refuses %s", async (json) => {
    const result = await receiveAlarmText("text", json);
    expect(result).toEqual({ outcome: "unrecognized", handled: [] });
  });
});
