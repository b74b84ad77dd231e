import { expect, test } from "vitest";
import { extraFields, type Alarm, type OnlineDataEvent } from "../../src/index.js";
import { alarm, alarmBody, delivery, onlineDataEvent } from "../support/deliveries.js";
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

const added = { region: "north", risk: { score: "7", ids: [1, null] }, none: null };

test.each<[string, Record<string, unknown>]>([
  ["with only the documented fields", {}],
  ["with fields that the gateway adds, also nested ones", added],
  ["with fields of an event", { type: "x", client_id: "c", occurred_at: "o" }],
])("the extra fields of an alarm %s are found", async (_, extra) => {
  const body = alarmBody({ ...extra, account_id: "42" });
  expect(await extraFieldsOf("new_alarm", body)).toEqual(extra);
});

test.each<[string, Record<string, unknown>]>([
  ["DATA_DELETED", {}],
  ["POWER_OF_ATTORNEY_SIGNED", {}],
  ["DATA_MOVED", {}],
  ["DATA_DELETED", added],
  ["DATA_DELETED", { id: 1, payload: "{}" }],
])("the extra fields of an event %s are the fields that it has besides: %j", async (...row) => {
  const [type, extra] = row;
  const body = JSON.stringify({ event: onlineDataEvent(type, extra) });
  expect(await extraFieldsOf("delete_my_data_event", body)).toEqual(extra);
});

test("a field named __proto__ is an ordinary extra field and changes no prototype", async () => {
  const text = JSON.stringify(alarm()).replace("{", '{"__proto__":{"polluted":true},');
  const extra = await extraFieldsOf("new_alarm", `{"alarm":${text}}`);
  expect(Object.entries(extra ?? {})).toEqual([["__proto__", { polluted: true }]]);
  expect(Object.getPrototypeOf(extra)).toBe(Object.prototype);
  expect((extra as { polluted?: boolean }).polluted).toBeUndefined();
});

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

test.each([null, undefined, "text", [], {}])(
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
