import { describe, expect, test } from "vitest";
import { alarm, onlineDataEvent } from "../support/deliveries.js";
import { ALL_EVENTS, ODD_VALUES, expectAsValidated, jsonOf, textsOf } from "./validated.js";

// A record whose fields have their documented types skips validation. Whatever a field may be, that
// must make no difference: here `receive` is compared with the public schemas.

describe("each field of an alarm, with each odd value or none, is judged as by the schema", () => {
  const fields = textsOf(alarm());

  test.each(Object.keys(fields))("%s", async (field) => {
    const taken: (string | undefined)[] = [];
    for (const text of [undefined, ...ODD_VALUES]) {
      const body = `{"alarm":${jsonOf({ ...fields, [field]: text })}}`;
      if (await expectAsValidated("new_alarm", body)) taken.push(text);
    }
    // Some are taken, and the missing one and null are not.
    expect(taken).toContain('"007"');
    expect(taken).not.toContain(undefined);
    expect(taken).not.toContain("null");
  });
});

describe.each(ALL_EVENTS)(
  "each field of an event of type %j is judged as by the schema",
  (type) => {
    const fields = textsOf(onlineDataEvent(type));

    test.each(Object.keys(fields))("%s", async (field) => {
      for (const text of [undefined, ...ODD_VALUES]) {
        const body = `{"event":${jsonOf({ ...fields, [field]: text })}}`;
        await expectAsValidated("delete_my_data_event", body);
      }
    });

    test("type, as any other type, with a site and without", async () => {
      const none = { site_id: "null", site_name: "null", site_base_url: "null" };
      for (const other of ALL_EVENTS) {
        for (const site of [{}, none, { site_id: "null" }, { site_name: "null" }]) {
          const body = `{"event":${jsonOf({ ...fields, type: JSON.stringify(other), ...site })}}`;
          await expectAsValidated("delete_my_data_event", body);
        }
      }
    });
  },
);

test.each(ODD_VALUES)("a record that is %s is judged as by the schema", async (text) => {
  expect(await expectAsValidated("new_alarm", jsonOf({ alarm: text }))).toBe(false);
  expect(await expectAsValidated("delete_my_data_event", jsonOf({ event: text }))).toBe(false);
});
