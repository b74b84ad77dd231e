import { describe, expect, test } from "vitest";
import { alarm, delivery, eventDelivery, onlineDataEvent } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { BUREAUS, EVENT_TYPES, HACKED_ITEMS } from "./documented-values.js";

/** The outcome of a body, and the record that the handler received. */
async function receive(type: string, body: string) {
  const { receive, handled } = recordingReceiver();
  const { outcome, status } = await receive(await delivery({ type, body }));
  return { outcome, status, handled };
}

const receiveAlarm = (overrides: Record<string, unknown>) =>
  receive("new_alarm", JSON.stringify({ alarm: alarm(overrides) }));

describe("documented deliveries", () => {
  test.each(HACKED_ITEMS.map((item) => `${item}_hacked`))(
    "an alarm of the breach %s reaches its handler as it was sent",
    async (event_type) => {
      const { outcome, handled } = await receiveAlarm({ event_type });
      expect([outcome, handled]).toEqual(["handled", [alarm({ event_type })]]);
    },
  );

  test.each(BUREAUS)(
    "an alarm of the source %s reaches its handler as it was sent",
    async (source) => {
      const sent = { source, event_type: source };
      const expected = { outcome: "handled", handled: [alarm(sent)] };
      expect(await receiveAlarm(sent)).toMatchObject(expected);
    },
  );

  test.each(["Low", "Medium", "High", "Info"])(
    "an alarm of severity %s reaches its handler as it was sent",
    async (severity) => {
      expect((await receiveAlarm({ severity })).handled).toEqual([alarm({ severity })]);
    },
  );

  test.each(EVENT_TYPES)("an event of type %s reaches its handler as it was sent", async (type) => {
    const { receive, handled } = recordingReceiver();
    expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
    expect(handled).toEqual([onlineDataEvent(type)]);
  });
});

describe("values that the gateway may add later", () => {
  test("unknown fields stay as they were sent, at every level", async () => {
    const added = { risk: { score: 0.25, tags: ["a", null] }, is_test: 1, id2: "007" };
    const { handled } = await receiveAlarm(added);
    expect(handled).toEqual([alarm(added)]);
  });

  test("the fields keep their order, including unknown fields", async () => {
    const sent = { added_first: 1, ...alarm({ account_id: "42" }), added_last: 2 };
    const { handled } = await receive("new_alarm", JSON.stringify({ alarm: sent }));
    expect(Object.keys(handled[0] as object)).toEqual(Object.keys(sent));
  });

  test.each(["severity", "status", "source", "event_type"])(
    "an unknown value of %s passes",
    async (field) => {
      const { handled } = await receiveAlarm({ [field]: "Added2030" });
      expect(handled).toEqual([alarm({ [field]: "Added2030" })]);
    },
  );

  test("an unknown category, event severity and date format pass", async () => {
    const sent = { category_id: 8, date: "2026-07-08T10:00:00Z", checked_at: "" };
    expect((await receiveAlarm(sent)).handled).toEqual([alarm(sent)]);
    const { receive, handled } = recordingReceiver();
    await receive(await eventDelivery("DATA_DELETED", { event: { severity: "CRITICAL" } }));
    expect(handled).toEqual([onlineDataEvent("DATA_DELETED", { severity: "CRITICAL" })]);
  });

  test("an unknown field beside the alarm in the body passes", async () => {
    const body = JSON.stringify({ version: 2, alarm: alarm() });
    expect((await receive("new_alarm", body)).handled).toEqual([alarm()]);
  });

  test("text of any script passes, escaped or not, also half a surrogate pair", async () => {
    const text = "Ålarm – тест – 警报 – 🔐 – \ud83d";
    expect((await receiveAlarm({ text })).handled).toEqual([alarm({ text })]);
  });
});
