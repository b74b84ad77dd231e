import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alarm, onlineDataEvent } from "../support/deliveries.js";
import {
  ALL_EVENTS,
  ODD_VALUES,
  expectAsValidated,
  jsonOf,
  textsOf,
  type Fields,
} from "./validated.js";

// The receiver decodes by a loop of its own and `/schemas` by zod, both from one table. These tests compare
// `receive` with the public schemas.

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

describe("records of any shape", () => {
  const settings = { seed: 20_260_708, numRuns: 300 };
  const odd = fc.option(fc.constantFrom(...ODD_VALUES), { nil: undefined });
  const unknown = fc.dictionary(
    fc.constantFrom("__proto__", "constructor", "toString", "added", "0", "Id", "site"),
    fc.constantFrom(...ODD_VALUES, '{"id":5}'),
    { maxKeys: 3 },
  );

  /** The text of a record with up to three odd fields and some unknown fields. */
  function recordLike(fields: Fields) {
    const changes = fc.dictionary(fc.constantFrom(...Object.keys(fields)), odd, { maxKeys: 3 });
    return fc
      .tuple(changes, unknown, fc.boolean())
      .map(([changed, added, first]) =>
        jsonOf(
          Object.fromEntries([
            ...(first ? Object.entries(added) : []),
            ...Object.entries({ ...fields, ...changed }),
            ...(first ? [] : Object.entries(added)),
          ]),
        ),
      );
  }

  const alarms = recordLike(textsOf(alarm()));
  const events = fc
    .constantFrom(...ALL_EVENTS)
    .chain((type) => recordLike(textsOf(onlineDataEvent(type))));

  test.each([
    ["alarms", "new_alarm", "alarm", alarms],
    ["events", "delete_my_data_event", "event", events],
  ] as const)(
    "as a property, %s of any shape are accepted or refused as the schema decides",
    async (_, type, owner, records) => {
      await fc.assert(
        fc.asyncProperty(records, async (text) => {
          await expectAsValidated(type, `{"${owner}":${text}}`);
        }),
        settings,
      );
    },
  );
});
