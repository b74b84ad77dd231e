import { describe, expect, test } from "vitest";
import { alarm, onlineDataEvent } from "../support/deliveries.js";
import { ALL_EVENTS, ODD_VALUES, expectAsValidated, jsonOf, textsOf } from "./validated.js";

// A record whose fields have their documented types skips validation. The result must be the same
// for any field, so these tests compare `receive` with the public schemas.

describe("each field of an alarm", () => {
  const fields = textsOf(alarm());

  test.each(Object.keys(fields))(
    "the alarm field %s is accepted or refused as the schema decides, with each odd value and without it",
    async (field) => {
      const taken: (string | undefined)[] = [];
      for (const text of [undefined, ...ODD_VALUES]) {
        const body = `{"alarm":${jsonOf({ ...fields, [field]: text })}}`;
        if (await expectAsValidated("new_alarm", body)) taken.push(text);
      }
      // Some values are accepted; a missing value and null are not.
      expect(taken).toContain('"007"');
      expect(taken).not.toContain(undefined);
      expect(taken).not.toContain("null");
    },
  );
});

describe.each(ALL_EVENTS)("each field of an event of type %j", (type) => {
  const fields = textsOf(onlineDataEvent(type));

  test.each(Object.keys(fields))(
    `the field %s of an event of type "${type}" is accepted or refused as the schema decides`,
    async (field) => {
      for (const text of [undefined, ...ODD_VALUES]) {
        const body = `{"event":${jsonOf({ ...fields, [field]: text })}}`;
        await expectAsValidated("delete_my_data_event", body);
      }
    },
  );

  test(`the type "${type}" replaced by any other type is accepted or refused as the schema decides, with and without a site`, async () => {
    const none = { site_id: "null", site_name: "null", site_base_url: "null" };
    for (const other of ALL_EVENTS) {
      for (const site of [{}, none, { site_id: "null" }, { site_name: "null" }]) {
        const body = `{"event":${jsonOf({ ...fields, type: JSON.stringify(other), ...site })}}`;
        await expectAsValidated("delete_my_data_event", body);
      }
    }
  });
});

test.each(ODD_VALUES)("a record that is %s is refused, as the schema refuses it", async (text) => {
  expect(await expectAsValidated("new_alarm", jsonOf({ alarm: text }))).toBe(false);
  expect(await expectAsValidated("delete_my_data_event", jsonOf({ event: text }))).toBe(false);
});
