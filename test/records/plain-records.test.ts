import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import type * as z from "zod/mini";
import { alarmSchema, onlineDataEventSchema } from "../../src/index.js";

type Shape = Readonly<Record<string, z.core.$ZodType>>;

/** What a field has to pass for its schema to leave it as it is. */
function conditionOf(field: string, schema: z.core.$ZodType): string {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  // Every field is a conversion, which leaves alone what has its type, and then that type.
  const output = def.type === "pipe" ? (def.out as z.core.$ZodTypes)._zod.def : undefined;
  if (output?.type === "number") return `Number.isSafeInteger(record["${field}"])`;
  if (output?.type === "string") return `typeof record["${field}"] === "string"`;
  throw new Error(`${field} is neither an integer nor a text: its check has to be thought of`);
}

function functionOf(name: string, what: string, shape: Shape): string {
  const conditions = Object.entries(shape).map(([field, schema]) => conditionOf(field, schema));
  return `
    /** Whether the schema of ${what} would pass it and convert nothing. */
    export function ${name}(record: PlainRecord): boolean {
      return ${conditions.join(" &&\n")};
    }`;
}

function siteFields(): Shape {
  const [known] = onlineDataEventSchema.def.options;
  const fields = Object.entries(known.def.options[0].shape);
  return Object.fromEntries(fields.filter(([field]) => field !== "type"));
}

test("the checks of plain records are those of the schemas", async () => {
  const file = "../../src/records/plain-records.ts";
  const source = `
    // Made of the schemas by test/records/plain-records.test.ts; after a change of theirs:
    // npx vitest run --project node test/records/plain-records.test.ts -u
    //
    // Code, and not a loop over the schema's fields, which takes 0.11 µs for an alarm where this takes
    // 0.01 (zod/mini 1.2, classic zod 0.14 and 18 kB more at the edge). And not code that is made when
    // the package is loaded: that needs eval, which workers and strict content policies forbid.

    /** A record before anything is known of it. */
    type PlainRecord = Readonly<Record<string, unknown>>;
    ${functionOf("isPlainAlarm", "an alarm", alarmSchema.shape)}
    ${functionOf("hasPlainSiteFields", "a site event, its type apart,", siteFields())}
  `.replace(/^ +/gm, "");
  const config = await resolveConfig(new URL(file, import.meta.url).pathname);
  await expect(await format(source, { ...config, parser: "typescript" })).toMatchFileSnapshot(file);
});
