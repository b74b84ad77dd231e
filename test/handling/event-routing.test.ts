import { describe, expect, test } from "vitest";
import { isKnownOnlineDataEvent, type OnlineDataEvent } from "../../src/index.js";
import { answerOf } from "../support/alarm-receiver.js";
import { delivery, eventDelivery, onlineDataEvent } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const OBJECT_MEMBERS = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
const ADDED = ["DATA_MOVED", "*", "", "data_deleted", "DATA_DELETED ", ...OBJECT_MEMBERS];

describe("one function for all events", () => {
  test.each(["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", ...ADDED])(
    "a function for delete_my_data_event receives events of type %j",
    async (type) => {
      const { receive, handled } = recordingReceiver();
      expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
      expect(handled).toEqual([onlineDataEvent(type)]);
    },
  );

  test.each([
    ["DATA_DELETED", true],
    ["POWER_OF_ATTORNEY_SIGNED", true],
    ["DATA_MOVED", false],
    ["toString", false],
  ])("isKnownOnlineDataEvent of an event of type %s is %s", async (type, isKnown) => {
    const { receive, handled } = recordingReceiver();
    await receive(await eventDelivery(type));
    expect(isKnownOnlineDataEvent(handled[0] as OnlineDataEvent)).toBe(isKnown);
  });
});

describe("map of events", () => {
  function mapped(...names: readonly ("*" | "unrecognized")[]) {
    const calls: [string, unknown][] = [];
    const note = (name: string) => (given: unknown) => calls.push([name, given]);
    const { receive } = recordingReceiver({
      handlers: {
        delete_my_data_event: {
          DATA_REAPPEARED: note("DATA_REAPPEARED"),
          POWER_OF_ATTORNEY_SIGNED: note("POWER_OF_ATTORNEY_SIGNED"),
          ...(names.includes("*") && { "*": note("*") }),
        },
        ...(names.includes("unrecognized") && { unrecognized: note("unrecognized") }),
      },
    });
    return {
      calls,
      receive,
      send: async (type: string) => answerOf(receive(await eventDelivery(type))),
    };
  }

  test.each<[string, string]>([
    ["DATA_REAPPEARED", "DATA_REAPPEARED"],
    ["POWER_OF_ATTORNEY_SIGNED", "POWER_OF_ATTORNEY_SIGNED"],
    ...["DATA_DELETED", ...ADDED].map((type): [string, string] => [type, "*"]),
  ])("an event map passes the type %j to its function %j", async (type, name) => {
    const { send, calls } = mapped("*");
    expect(await send(type)).toBe("200 handled");
    expect(calls).toEqual([[name, onlineDataEvent(type)]]);
  });

  test('an event map without "*" leaves a documented type unhandled, answered 200', async () => {
    const { send, calls } = mapped("unrecognized");
    expect(await send("DATA_DELETED")).toBe("200 unhandled");
    expect(calls).toEqual([]);
  });

  test.each(ADDED)(
    'an event map without "*" leaves %j unrecognized, for handlers.unrecognized if there is one',
    async (type) => {
      const without = mapped();
      expect(await without.send(type)).toBe("503 unrecognized");
      expect(without.calls).toEqual([]);
      const { send, calls } = mapped("unrecognized");
      expect(await send(type)).toBe("200 handled");
      expect(calls).toMatchObject([
        ["unrecognized", { type: "delete_my_data_event", issues: [{ path: ["event", "type"] }] }],
      ]);
    },
  );

  test("handlers.unrecognized receives the whole body of such an event as it was sent", async () => {
    const { receive, calls } = mapped("unrecognized");
    const event = onlineDataEvent("DATA_MOVED", { account_id: "42" });
    const body = { sent_by: "gateway-2", event };
    await receive(await delivery({ type: "delete_my_data_event", body: JSON.stringify(body) }));
    expect(calls).toMatchObject([["unrecognized", { body }]]);
  });

  test("an event map treats undefined entries as absent", async () => {
    const calls: string[] = [];
    const { receive } = recordingReceiver({
      handlers: {
        delete_my_data_event: { DATA_DELETED: undefined, "*": (event) => calls.push(event.type) },
      },
    });
    await receive(await eventDelivery("DATA_DELETED"));
    expect(calls).toEqual(["DATA_DELETED"]);
  });

  test("an event map is read when the receiver is created, and later changes have no effect", async () => {
    const calls: string[] = [];
    const map = { "*": () => calls.push("first") };
    const { receive } = recordingReceiver({ handlers: { delete_my_data_event: map } });
    map["*"] = () => calls.push("second");
    await receive(await eventDelivery("DATA_DELETED"));
    expect(calls).toEqual(["first"]);
  });
});

describe("missing handlers", () => {
  test("a webhook type without a handler is unhandled, answered 200, and logged once", async () => {
    const { receive, lines } = recordingReceiver({ handlers: { unrecognized: () => 0 } });
    const event = (id: string) => eventDelivery("DATA_DELETED", { id });
    // None is stored, so that a handler of the next deploy receives a redelivery.
    for (const id of ["a", "b", "b"]) {
      expect(await answerOf(receive(await delivery({ id })))).toBe("200 unhandled");
      expect(await answerOf(receive(await event(`${id}2`)))).toBe("200 unhandled");
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]?.message).toContain("new_alarm");
    expect(lines[1]?.message).toContain("delete_my_data_event");
  });

  test("each event type that is missing in an event map is logged once", async () => {
    const handlers = { delete_my_data_event: { DATA_REAPPEARED: () => 0 } };
    const { receive, lines } = recordingReceiver({ handlers });
    for (const [id, type] of ["DATA_DELETED", "PERSONAL_DATA_FOUND", "DATA_DELETED"].entries()) {
      await receive(await eventDelivery(type, { id: String(id) }));
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]?.message).toContain("DATA_DELETED");
    expect(lines[1]?.message).toContain("PERSONAL_DATA_FOUND");
  });
});

test("handlers written as methods keep their this", async () => {
  const calls: string[] = [];
  class Desk {
    readonly name = "desk";
    new_alarm = function (this: Desk) {
      calls.push(`${this.name} alarm`);
    };
    unrecognized = function (this: Desk) {
      calls.push(`${this.name} unrecognized`);
    };
    delete_my_data_event = {
      site: "site",
      DATA_DELETED(this: { site: string }) {
        calls.push(`${this.site} deleted`);
      },
    };
  }
  const handlers = new Desk();
  Object.defineProperty(handlers, "name", { enumerable: false });
  Object.defineProperty(handlers.delete_my_data_event, "site", { enumerable: false });
  const { receive } = recordingReceiver({ handlers });
  await receive(await delivery({ id: "a" }));
  await receive(await eventDelivery("DATA_DELETED", { id: "b" }));
  await receive(await delivery({ id: "c", body: "{}" }));
  expect(calls).toEqual(["desk alarm", "site deleted", "desk unrecognized"]);

  const whole = {
    new_alarm: () => undefined,
    delete_my_data_event() {
      calls.push(typeof this.new_alarm);
    },
  };
  await recordingReceiver({ handlers: whole }).receive(await eventDelivery("DATA_DELETED"));
  expect(calls.at(-1)).toBe("function");
});
