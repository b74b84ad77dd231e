import { describe, expect, test } from "vitest";
import { createWebhookReceiver } from "../../src/index.js";
import { expectRefused, optionsWith } from "./refusal.js";

const noop = () => undefined;

test.each<[string, object]>([
  ["a handler for alarms", { new_alarm: noop }],
  ["a handler for unrecognized deliveries", { unrecognized: noop }],
  ["all three", { new_alarm: noop, delete_my_data_event: noop, unrecognized: noop }],
  ["an event map with one event type", { delete_my_data_event: { DATA_DELETED: noop } }],
  ['an event map with only "*"', { delete_my_data_event: { "*": noop } }],
  ["undefined beside a handler", { new_alarm: noop, delete_my_data_event: undefined }],
  [
    "undefined beside a handler in an event map",
    { delete_my_data_event: { DATA_DELETED: undefined, "*": noop } },
  ],
  [
    "an object without a prototype",
    Object.assign(Object.create(null) as object, { new_alarm: noop }),
  ],
])("handlers may be %s", (_, handlers) => {
  expect(() => createWebhookReceiver(optionsWith({ handlers }))).not.toThrow();
});

test.each<[string, unknown]>([
  ["left out", undefined],
  ["null", null],
  ["a function", noop],
  ["an empty object", {}],
  ["all undefined", { new_alarm: undefined, unrecognized: undefined }],
  ["an empty event map", { delete_my_data_event: {} }],
  [
    "an event map of undefined",
    { delete_my_data_event: { DATA_DELETED: undefined, "*": undefined } },
  ],
  ["an empty event map beside a handler", { new_alarm: noop, delete_my_data_event: {} }],
])("handlers are missing if they are %s", (_, handlers) => {
  expectRefused({ handlers }, "missing_handlers", "handlers");
});

describe("unknown handlers", () => {
  test.each(["new_alarms", "New_Alarm", "*", "toString"])(
    "an unknown key in handlers is refused: %s",
    (name) => {
      const known = "new_alarm, delete_my_data_event, unrecognized";
      const handlers = { new_alarm: noop, [name]: noop };
      expectRefused({ handlers }, "unknown_handler", `handlers.${name} `, known);
    },
  );

  test.each(["DATA_DELETD", "data_deleted", "constructor", ""])(
    "an unknown event type in an event map is refused: %j",
    (type) => {
      const handlers = { delete_my_data_event: { DATA_DELETED: noop, [type]: noop } };
      const known = ["DATA_REAPPEARED", "POWER_OF_ATTORNEY_SIGNED", '"*"'];
      expectRefused({ handlers }, "unknown_handler", type, ...known);
    },
  );

  test("a list of functions is refused as handlers and as an event map", () => {
    expectRefused({ handlers: [noop] }, "unknown_handler");
    expectRefused({ handlers: { delete_my_data_event: [noop] } }, "unknown_handler");
  });
});

describe("inherited handlers", () => {
  class Handlers {
    new_alarm = noop;
    delete_my_data_event() {
      return undefined;
    }
  }

  test.each<[string, object]>([
    ["handlers.delete_my_data_event", new Handlers()],
    [
      "handlers.delete_my_data_event.DATA_DELETED",
      {
        delete_my_data_event: Object.setPrototypeOf(
          { "*": noop },
          { DATA_DELETED: noop },
        ) as object,
      },
    ],
    [
      "handlers.delete_my_data_event.*",
      {
        delete_my_data_event: Object.setPrototypeOf(
          { DATA_DELETED: noop },
          { "*": noop },
        ) as object,
      },
    ],
  ])(
    "a handler that would never be called, because it is inherited, is refused: %s",
    (name, handlers) => {
      expectRefused({ handlers }, "invalid_handler", `${name} is inherited`);
    },
  );
});

describe("invalid handlers", () => {
  test.each([null, "notify", {}, []])("a handler may not be %j", (handler) => {
    for (const name of ["new_alarm", "unrecognized"]) {
      expectRefused({ handlers: { [name]: handler } }, "invalid_handler", `handlers.${name}`);
    }
  });

  test.each([null, "record", 5])("a handler for events may not be %j", (handler) => {
    expectRefused({ handlers: { delete_my_data_event: handler } }, "invalid_handler");
  });

  test.each([null, "record", {}, []])("an event map may not contain %j", (handler) => {
    for (const type of ["DATA_DELETED", "*"]) {
      const handlers = { delete_my_data_event: { [type]: handler } };
      expectRefused({ handlers }, "invalid_handler", `handlers.delete_my_data_event.${type}`);
    }
  });
});
