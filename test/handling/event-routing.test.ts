import { describe, expect, test } from "vitest";
import { isKnownOnlineDataEvent, type OnlineDataEvent } from "../../src/index.js";
import { delivery, eventDelivery, onlineDataEvent } from "../support/deliveries.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const OBJECT_MEMBERS = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
const ADDED = ["DATA_MOVED", "*", "", "data_deleted", "DATA_DELETED ", ...OBJECT_MEMBERS];

describe("a function takes every event", () => {
  test.each(["DATA_DELETED", "POWER_OF_ATTORNEY_SIGNED", ...ADDED])("of type %j", async (type) => {
    const { receive, handled } = recordingReceiver();
    expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
    expect(handled).toEqual([onlineDataEvent(type)]);
  });

  test("which isKnownOnlineDataEvent tells apart", async () => {
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

describe("a map", () => {
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
    "finds the function of %s",
    async (type) => {
      const { receive, calls } = mapped(true);
      expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
      expect(calls).toEqual([[type, onlineDataEvent(type)]]);
    },
  );

  test.each(["DATA_DELETED", ...ADDED])('gives the type %j to "*"', async (type) => {
    const { receive, calls } = mapped(true);
    expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
    expect(calls).toEqual([["*", onlineDataEvent(type)]]);
  });

  test('without "*" leaves a documented type unhandled, which is answered 200', async () => {
    const { receive, calls } = mapped(false, true);
    const answer = await receive(await eventDelivery("DATA_DELETED"));
    expect(answer).toMatchObject({ status: 200, outcome: "unhandled" });
    expect(calls).toEqual([]);
  });

  test.each(ADDED)('without "*" cannot have left out %j on purpose: unrecognized', async (type) => {
    const { receive, calls } = mapped(false);
    const answer = await receive(await eventDelivery(type));
    expect(answer).toMatchObject({ status: 503, outcome: "unrecognized" });
    expect(calls).toEqual([]);
  });

  test.each(ADDED)('without "*" gives %j to handlers.unrecognized', async (type) => {
    const { receive, calls } = mapped(false, true);
    expect((await receive(await eventDelivery(type))).outcome).toBe("handled");
    expect(calls).toMatchObject([
      ["unrecognized", { type: "delete_my_data_event", issues: [{ path: ["event", "type"] }] }],
    ]);
  });

  test("hands on the whole body of such a delivery, as it was sent", async () => {
    const { receive, calls } = mapped(false, true);
    const body = {
      sent_by: "gateway-2",
      event: onlineDataEvent("DATA_MOVED", { account_id: "42" }),
    };
    await receive(await delivery({ type: "delete_my_data_event", body: JSON.stringify(body) }));
    expect(calls).toMatchObject([["unrecognized", { body }]]);
  });

  test("counts undefined entries as absent", async () => {
    const calls: string[] = [];
    const { receive } = recordingReceiver({
      handlers: {
        delete_my_data_event: { DATA_DELETED: undefined, "*": (event) => calls.push(event.type) },
      },
    });
    await receive(await eventDelivery("DATA_DELETED"));
    expect(calls).toEqual(["DATA_DELETED"]);
  });

  test("is read when the receiver is made: later changes have no effect", async () => {
    const calls: string[] = [];
    const map = { "*": () => calls.push("first") };
    const { receive } = recordingReceiver({ handlers: { delete_my_data_event: map } });
    map["*"] = () => calls.push("second");
    await receive(await eventDelivery("DATA_DELETED"));
    expect(calls).toEqual(["first"]);
  });
});

describe("a webhook type without a handler", () => {
  function warningsOf() {
    const lines: string[] = [];
    const logger = {
      warn: (line: string) => lines.push(line),
      error: (line: string) => lines.push(line),
    };
    return { lines, logger };
  }

  test("is unhandled, answered 200, and warned of once", async () => {
    const { lines, logger } = warningsOf();
    const { receive } = recordingReceiver({ handlers: { unrecognized: () => 0 }, logger });
    for (const id of ["a", "b"]) {
      expect(await receive(await delivery({ id }))).toMatchObject({
        status: 200,
        outcome: "unhandled",
      });
      const event = await eventDelivery("DATA_DELETED", { id: `${id}2` });
      expect(await receive(event)).toMatchObject({ status: 200, outcome: "unhandled" });
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain("new_alarm");
    expect(lines[1]).toContain("delete_my_data_event");
  });

  test("is warned of once an event type, where there is a map", async () => {
    const { lines, logger } = warningsOf();
    const handlers = { delete_my_data_event: { DATA_REAPPEARED: () => 0 } };
    const { receive } = recordingReceiver({ handlers, logger });
    for (const [id, type] of ["DATA_DELETED", "PERSONAL_DATA_FOUND", "DATA_DELETED"].entries()) {
      await receive(await eventDelivery(type, { id: String(id) }));
    }
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain("DATA_DELETED");
    expect(lines[1]).toContain("PERSONAL_DATA_FOUND");
  });

  test("is not remembered: a handler that comes with the next deploy gets what is sent again", async () => {
    const { receive } = recordingReceiver({ handlers: { unrecognized: () => 0 } });
    const request = await delivery();
    await receive(request);
    expect((await receive(request)).outcome).toBe("unhandled");
  });
});

test("handlers written as methods find their this", async () => {
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
