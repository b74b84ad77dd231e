import { inspect } from "node:util";
import { expect, test, vi } from "vitest";
import * as z from "zod";
import { AlarmPayloadError, parseAlarmPayload } from "../../src/index.js";
import type { StandardSchema } from "../../src/records/standard-schema.js";
import { alarm } from "../support/deliveries.js";
import { thrownBy } from "../support/thrown.js";

const CANARY = "canary-19121212-1212";

/** The `AlarmPayloadError` that reading a payload throws. */
function errorOf(read: () => unknown): AlarmPayloadError {
  const error = thrownBy(read);
  expect(error).toBeInstanceOf(AlarmPayloadError);
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).name).toBe("AlarmPayloadError");
  return error as AlarmPayloadError;
}

test.each<[string, unknown]>([
  ['{"breach":"Example","tags":["a",1,null]}', { breach: "Example", tags: ["a", 1, null] }],
  ["null", null],
  [' {"a":1}\n', { a: 1 }],
  ['{"text":"Å – 🔐"}', { text: "Å – 🔐" }],
])("without a schema, parseAlarmPayload reads the JSON %s", (payload, value) => {
  expect(parseAlarmPayload({ payload })).toEqual(value);
});

test.each(["", " ", "\n\t"])(
  "without a schema, parseAlarmPayload reports the payload %j as empty",
  (payload) => {
    const { code, issues } = errorOf(() => parseAlarmPayload({ payload }));
    expect({ code, issues }).toEqual({ code: "empty_payload", issues: [] });
  },
);

test.each(["{", "undefined", '{"a":1}}', "\ufeff{}"])(
  "without a schema, parseAlarmPayload reports that the payload %j is not JSON",
  (payload) => {
    expect(errorOf(() => parseAlarmPayload({ payload })).code).toBe("invalid_json");
  },
);

const schema = z.object({ breach: z.string(), count: z.coerce.number().default(0) });

test("with a schema, parseAlarmPayload returns the output of the schema", () => {
  expect(parseAlarmPayload(alarm(), schema)).toEqual({ breach: "Example", count: 0 });
});

test("with a schema, parseAlarmPayload reports the issues that the schema found", () => {
  const { code, issues } = errorOf(() => parseAlarmPayload({ payload: '{"breach":5}' }, schema));
  expect(code).toBe("schema_mismatch");
  expect(issues).toMatchObject([{ path: ["breach"] }]);
});

test("with a schema, parseAlarmPayload does not call the schema if the payload is not JSON", () => {
  const validate = vi.spyOn(schema["~standard"], "validate");
  expect(errorOf(() => parseAlarmPayload({ payload: "" }, schema)).code).toBe("empty_payload");
  expect(errorOf(() => parseAlarmPayload({ payload: "{" }, schema)).code).toBe("invalid_json");
  expect(validate).not.toHaveBeenCalled();
});

test("parseAlarmPayload accepts any Standard Schema, also one that is a function", () => {
  const issues = [{ message: "expected a number" }];
  const standard: StandardSchema<number>["~standard"] = {
    version: 1,
    vendor: "test",
    validate: (value) => (typeof value === "number" ? { value: value * 2 } : { issues }),
  };
  const callable = Object.assign(() => undefined, { "~standard": standard });
  expect(parseAlarmPayload({ payload: "21" }, { "~standard": standard })).toBe(42);
  expect(parseAlarmPayload({ payload: "21" }, callable)).toBe(42);
  const error = errorOf(() => parseAlarmPayload({ payload: "{}" }, callable));
  expect(error.issues).toEqual(issues);
});

test.each<[string, () => Promise<unknown>]>([
  ["succeeds", () => Promise.resolve({ value: 1 })],
  ["fails", () => Promise.reject(new Error("late"))],
])(
  "parseAlarmPayload refuses an asynchronous schema and ignores its promise if it %s",
  async (_, validate) => {
    const rejections: unknown[] = [];
    const listener = (reason: unknown) => rejections.push(reason);
    process.on("unhandledRejection", listener);
    try {
      const asynchronous = { "~standard": { version: 1, vendor: "test", validate } };
      const read = () =>
        parseAlarmPayload({ payload: "{}" }, asynchronous as unknown as StandardSchema<unknown>);
      expect(errorOf(read).code).toBe("async_schema");
      await new Promise((resolve) => setImmediate(resolve));
      expect(rejections).toEqual([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  },
);

test.each<[string, () => unknown]>([
  ["not JSON", () => parseAlarmPayload({ payload: CANARY })],
  ["cut-off JSON", () => parseAlarmPayload({ payload: `{"ssn":"${CANARY}` })],
  [
    "refused by a schema whose message quotes it",
    () => {
      const quoting = z
        .unknown()
        .refine(() => false, { error: ({ input }) => `bad: ${JSON.stringify(input)}` });
      return parseAlarmPayload({ payload: JSON.stringify({ ssn: CANARY }) }, quoting);
    },
  ],
])("an AlarmPayloadError prints no part of a payload that is %s", (_, read) => {
  const error = errorOf(read);
  const seen = inspect(error, { depth: 10 });
  const printed = [String(error), error.stack, JSON.stringify(error), seen].join("\n");
  expect(printed).not.toContain(CANARY);
  expect(error.cause).toBeUndefined();
});
