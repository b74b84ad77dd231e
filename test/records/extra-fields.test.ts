import { describe, expect, test } from "vitest";
import { extraFields, type Alarm, type OnlineDataEvent } from "../../src/index.js";
import { alarm, delivery, onlineDataEvent } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

/** The extra fields of the record that a handler receives for this body. */
async function extraFieldsOf(type: "new_alarm" | "delete_my_data_event", body: string) {
  const seen: Record<string, unknown>[] = [];
  const record = (value: Alarm | OnlineDataEvent) => {
    seen.push(extraFields(value));
  };
  const { receive } = recordingReceiver({
    handlers: { new_alarm: record, delete_my_data_event: record },
  });
  expect((await receive(await delivery({ type, body }))).outcome).toBe("handled");
  return seen[0];
}

/** `extraFields` without its types, as JavaScript calls it. */
const untyped = extraFields as (record: unknown) => Record<string, unknown>;

describe("extraFields of a delivered record", () => {
  test("an alarm with only the documented fields has no extra fields", async () => {
    expect(await extraFieldsOf("new_alarm", JSON.stringify({ alarm: alarm() }))).toEqual({});
  });

  test.each(["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", "DATA_MOVED"])(
    "an event %s with only the documented fields has no extra fields",
    async (type) => {
      const body = JSON.stringify({ event: onlineDataEvent(type) });
      expect(await extraFieldsOf("delete_my_data_event", body)).toEqual({});
    },
  );

  test("the fields that the gateway adds keep the values that were sent, also nested values", async () => {
    const added = { region: "north", risk: { score: "7", ids: [1, null] }, none: null };
    const body = JSON.stringify({ alarm: alarm({ ...added, account_id: "42" }) });
    expect(await extraFieldsOf("new_alarm", body)).toEqual(added);
    const event = JSON.stringify({ event: onlineDataEvent("DATA_DELETED", added) });
    expect(await extraFieldsOf("delete_my_data_event", event)).toEqual(added);
  });

  test("a field of the other kind of record is an extra field", async () => {
    const body = JSON.stringify({ alarm: alarm({ type: "x", client_id: "c", occurred_at: "o" }) });
    expect(await extraFieldsOf("new_alarm", body)).toEqual({
      type: "x",
      client_id: "c",
      occurred_at: "o",
    });
    const added = { id: 1, payload: "{}" };
    const event = JSON.stringify({ event: onlineDataEvent("DATA_DELETED", added) });
    expect(await extraFieldsOf("delete_my_data_event", event)).toEqual(added);
  });

  test("a field named __proto__ is an ordinary extra field and changes no prototype", async () => {
    const text = JSON.stringify(alarm()).replace("{", '{"__proto__":{"polluted":true},');
    const extra = await extraFieldsOf("new_alarm", `{"alarm":${text}}`);
    expect(Object.entries(extra ?? {})).toEqual([["__proto__", { polluted: true }]]);
    expect(Object.getPrototypeOf(extra)).toBe(Object.prototype);
    expect((extra as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe("extraFields of other values", () => {
  test("inherited fields are not extra fields", () => {
    const record: unknown = Object.assign(Object.create({ inherited: 1 }) as object, alarm());
    expect(untyped(record)).toEqual({});
  });

  test("a change of the extraFields result does not change the record", () => {
    const record = alarm({ added: 1 });
    untyped(record)["added"] = 2;
    expect(record).toEqual(alarm({ added: 1 }));
  });

  test("the extra fields of a partial record are the fields that neither kind documents", () => {
    expect(untyped({ account_id: 1, added: 2 })).toEqual({ added: 2 });
    expect(untyped({ type: "DATA_DELETED", site_id: 1, payload: "{}" })).toEqual({});
  });

  test.each([null, undefined, 5, "text", true, [], {}, () => 1])(
    "%j has no extra fields, and extraFields does not throw",
    (value) => {
      expect(untyped(value)).toEqual({});
    },
  );

  test("an object that throws when it is read has no extra fields", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(untyped(proxy)).toEqual({});
    const record = {
      get added(): number {
        throw new Error("read");
      },
    };
    expect(untyped(record)).toEqual({});
  });
});
