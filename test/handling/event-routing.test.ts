import { describe, expect, test } from "vitest";
import { isKnownOnlineDataEvent, type OnlineDataEvent } from "../../src/index.js";
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

  test("isKnownOnlineDataEvent tells documented event types from others", async () => {
    const known: Record<string, boolean> = {};
    const { receive } = recordingReceiver({
      handlers: {
        delete_my_data_event: (event: OnlineDataEvent) => {
          known[event.type] = isKnownOnlineDataEvent(event);
        },
      },
    });
    for (const type of ["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", "DATA_MOVED", "toString"]) {
      await receive(await eventDelivery(type, { id: type }));
    }
    expect(known).toEqual({
      DATA_DELETED: true,
      POWER_OF_ATTORNEY_SIGNED: true,
      DATA_MOVED: false,
      toString: false,
    });
  });
});

describe("map of events", () => {
  function mapped(withStar: boolean, withUnrecognized = false) {
    const calls: [string, unknown][] = [];
    const { receive } = recordingReceiver({
      handlers: {
        delete_my_data_event: {
          DATA_REAPPEARED: (event) => calls.push(["DATA_REAPPEARED", event]),
          POWER_OF_ATTORNEY_SIGNED: (event) => calls.push(["POWER_OF_ATTORNEY_SIGNED", event]),
          ...(withStar && { "*": (event: OnlineDataEvent) => calls.push(["*", event]) }),
        },
        ...(withUnrecognized && {
          unrecognized: (unrecognized: unknown) => calls.push(["unrecognized", unrecognized]),
        }),
      },
    });
    return { receive, calls };
  }

  test.each(["DATA_REAPPEARED", "POWER_OF_ATTORNEY_SIGNED"])(
    "an event map calls the function of %s",
    async (type) => {
      const { receive, calls } = mapped(true);
      expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
      expect(calls).toEqual([[type, onlineDataEvent(type)]]);
    },
  );

  test.each(["DATA_DELETED", ...ADDED])('an event map passes the type %j to "*"', async (type) => {
    const { receive, calls } = mapped(true);
    expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
    expect(calls).toEqual([["*", onlineDataEvent(type)]]);
  });

  test('an event map without "*" leaves a documented type unhandled, answered 200', async () => {
    const { receive, calls } = mapped(false, true);
    const answer = await receive(await eventDelivery("DATA_DELETED"));
    expect(answer).toMatchObject({ status: 200, outcome: "unhandled" });
    expect(calls).toEqual([]);
  });

  test.each(ADDED)('an event map without "*" leaves %j unrecognized', async (type) => {
    const { receive, calls } = mapped(false);
    const answer = await receive(await eventDelivery(type));
    expect(answer).toMatchObject({ status: 503, outcome: "unrecognized" });
    expect(calls).toEqual([]);
  });

  test.each(ADDED)('an event map without "*" passes %j to handlers.unrecognized', async (type) => {
    const { receive, calls } = mapped(false, true);
    expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
    expect(calls).toMatchObject([
      ["unrecognized", { type: "delete_my_data_event", issues: [{ path: ["event", "type"] }] }],
    ]);
  });

  test("handlers.unrecognized receives the whole body of such an event as it was sent", async () => {
    const { receive, calls } = mapped(false, true);
    const body = {
      sent_by: "gateway-2",
      event: onlineDataEvent("DATA_MOVED", { account_id: "42" }),
    };
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
    for (const id of ["a", "b"]) {
      const alarm = await delivery({ id });
      expect(await receive(alarm)).toMatchObject({ status: 200, outcome: "unhandled" });
      const event = await eventDelivery("DATA_DELETED", { id: `${id}2` });
      expect(await receive(event)).toMatchObject({ status: 200, outcome: "unhandled" });
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

  test("an unhandled delivery is not stored, so that a handler of the next deploy receives a redelivery", async () => {
    const { receive } = recordingReceiver({ handlers: { unrecognized: () => 0 } });
    const request = await delivery();
    await receive(request);
    expect((await receive(request)).outcome).toBe("unhandled");
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
