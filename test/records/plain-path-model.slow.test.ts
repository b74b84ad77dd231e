import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isPlainAlarm,
  isPlainEventWithoutSite,
  isPlainSiteEvent,
} from "../../src/records/plain-records.js";
import { alarm, onlineDataEvent } from "../support/deliveries.js";
import {
  ALL_EVENTS,
  ODD_VALUES,
  SITE_EVENTS,
  expectAsValidated,
  jsonOf,
  textsOf,
  validated,
  type Fields,
} from "./validated.js";

describe("records of any shape", () => {
  const settings = { seed: 20_260_708, numRuns: 1_000 };
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

  test("as a property, alarms of any shape are accepted or refused as the schema decides", async () => {
    await fc.assert(
      fc.asyncProperty(alarms, async (text) => {
        await expectAsValidated("new_alarm", `{"alarm":${text}}`);
      }),
      settings,
    );
  });

  test("as a property, events of any shape are accepted or refused as the schema decides", async () => {
    await fc.assert(
      fc.asyncProperty(events, async (text) => {
        await expectAsValidated("delete_my_data_event", `{"event":${text}}`);
      }),
      settings,
    );
  });

  test("as a property, exactly the records that validation would leave unchanged skip validation", () => {
    const isLeftAlone = (type: string, body: string, record: object) => {
      const judgement = validated(type, body);
      return "record" in judgement && isDeepStrictEqual(judgement.record, Object.entries(record));
    };
    fc.assert(
      fc.property(alarms, (text) => {
        const record = JSON.parse(text) as Record<string, unknown>;
        const body = `{"alarm":${text}}`;
        expect(isPlainAlarm(record), text).toBe(isLeftAlone("new_alarm", body, record));
      }),
      settings,
    );
    fc.assert(
      fc.property(events, (text) => {
        const record = JSON.parse(text) as Record<string, unknown>;
        const { type } = record;
        const isDocumented =
          SITE_EVENTS.includes(type as string) || type === "POWER_OF_ATTORNEY_SIGNED";
        const body = `{"event":${text}}`;
        expect(isPlainSiteEvent(record) || isPlainEventWithoutSite(record), text).toBe(
          isDocumented && isLeftAlone("delete_my_data_event", body, record),
        );
      }),
      settings,
    );
  });
});
