import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import type * as z from "zod/mini";
import { ALARM_FIELDS } from "../../src/records/alarm.js";
import {
  ONLINE_DATA_EVENT_FIELDS,
  ONLINE_DATA_EVENT_TYPES,
  isSiteEventType,
} from "../../src/records/online-data-event.js";
import { alarmSchema, onlineDataEventSchema } from "../../src/records/schemas.js";

type Shape = Readonly<Record<string, z.core.$ZodType>>;

/** The condition under which the schema of a field does not change the value. */
function conditionOf(field: string, schema: z.core.$ZodType): string {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  // Every field is a pipe: a conversion, which does not change a value of the right type, then the
  // type.
  const output = def.type === "pipe" ? (def.out as z.core.$ZodTypes)._zod.def : undefined;
  if (output?.type === "number") return `Number.isSafeInteger(record["${field}"])`;
  if (output?.type === "string") return `typeof record["${field}"] === "string"`;
  if (def.type === "null") return `record["${field}"] === null`;
  throw new Error(`${field} is neither an integer nor a string: write a condition for its type`);
}

function functionOf(name: string, what: string, shape: Shape, first: readonly string[]): string {
  const fields = Object.entries(shape).map(([field, schema]) => conditionOf(field, schema));
  const conditions = [...first, ...fields];
  return `
    /** Whether the schema of ${what} would accept it and convert nothing. */
    export function ${name}(record: PlainRecord): boolean {
      return ${conditions.join(" &&\n")};
    }`;
}

/** The fields of the event types with a site, or of the type without one; all have the same but `type`. */
function eventFields(hasSite: boolean): Shape {
  const [known] = onlineDataEventSchema.def.options;
  const shape = known.def.options.find(
    ({ shape }) => isSiteEventType(shape.type.def.values[0]) === hasSite,
  )?.shape;
  return Object.fromEntries(Object.entries(shape ?? {}).filter(([field]) => field !== "type"));
}

test("the lists of documented fields and event types equal those of the schemas", () => {
  const [known] = onlineDataEventSchema.def.options;
  const events = known.def.options.map(({ shape }) => ({
    type: shape.type.def.values[0],
    fields: Object.keys(shape).sort(),
    hasSite: shape.site_id.def.type !== "null",
  }));
  expect(ALARM_FIELDS).toEqual(Object.keys(alarmSchema.shape));
  expect(events).toEqual(
    ONLINE_DATA_EVENT_TYPES.map((type) => ({
      type,
      fields: [...ONLINE_DATA_EVENT_FIELDS].sort(),
      hasSite: isSiteEventType(type),
    })),
  );
});

test("the generated checks of plain records follow the schemas", async () => {
  const file = "../../src/records/plain-records.ts";
  const source = `
    // Generated from the schemas by test/records/plain-records.test.ts. After a change of the schemas:
    // npx vitest run --project node test/records/plain-records.test.ts -u
    //
    // Written out, because a loop over the fields takes 0.11 µs for an alarm and this takes 0.01
    // (zod/mini 1.2; classic zod 0.14 and 18 kB more at the edge). Not generated at load time, because
    // that needs eval, which workers and strict content security policies forbid.
    import { isSiteEventType } from "./online-data-event.js";

    /** A record before validation. */
    type PlainRecord = Readonly<Record<string, unknown>>;
    ${functionOf("isPlainAlarm", "an alarm", alarmSchema.shape, [])}
    ${functionOf("isPlainSiteEvent", "a documented event with a site", eventFields(true), ['isSiteEventType(record["type"])'])}
    ${functionOf("isPlainEventWithoutSite", "the documented event without a site", eventFields(false), ['record["type"] === "POWER_OF_ATTORNEY_SIGNED"'])}
  `.replace(/^ +/gm, "");
  const config = await resolveConfig(new URL(file, import.meta.url).pathname);
  await expect(await format(source, { ...config, parser: "typescript" })).toMatchFileSnapshot(file);
});
