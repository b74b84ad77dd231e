import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type * as Library from "../../src/index.js";
import type { OutcomeReport } from "../../src/index.js";
import { NOW_MS, TEST_SECRET, alarm, delivery } from "../support/deliveries.js";

const VALIDATION = "../../src/records/validation.js";
/** A record that needs conversion, and therefore the schemas. */
const CONVERTED = JSON.stringify({ alarm: alarm({ account_id: "42" }) });
const PLAIN = JSON.stringify({ alarm: alarm() });

let loads: number;
let isBroken: boolean;

// Each test imports a library that has not loaded its schemas.
beforeEach(() => {
  loads = 0;
  isBroken = false;
  vi.resetModules();
  vi.doMock(VALIDATION, async (importOriginal) => {
    loads += 1;
    await Promise.resolve();
    if (isBroken) throw new Error("cannot find zod");
    return importOriginal();
  });
});

afterEach(() => {
  vi.doUnmock(VALIDATION);
  vi.resetModules();
});

async function freshReceiver() {
  const { createWebhookReceiver }: typeof Library = await import("../../src/index.js");
  const handled: unknown[] = [];
  const errors: string[] = [];
  const reports: OutcomeReport[] = [];
  const { receive } = createWebhookReceiver({
    secret: TEST_SECRET,
    now: () => NOW_MS,
    logger: { warn: () => undefined, error: (message) => errors.push(message) },
    onOutcome: (report) => reports.push(report),
    handlers: { new_alarm: ({ account_id }) => handled.push(account_id) },
  });
  const send = async (id: string, body: string) => receive(await delivery({ id, body }));
  return { send, handled, errors, reports };
}

test("a record that needs no conversion loads no schemas", async () => {
  const { send, handled } = await freshReceiver();
  expect((await send("a", PLAIN)).outcome).toBe("handled");
  expect(handled).toEqual([42]);
  expect(loads).toBe(0);
});

test("the first records that need the schemas share one load, and later records need no load", async () => {
  const { send, handled } = await freshReceiver();
  const answers = await Promise.all(["a", "b", "c"].map((id) => send(id, CONVERTED)));
  expect(answers.map(({ outcome }) => outcome)).toEqual(["handled", "handled", "handled"]);
  expect((await send("d", CONVERTED)).outcome).toBe("handled");
  expect(handled).toEqual([42, 42, 42, 42]);
  expect(loads).toBe(1);
});

test("a failed load of the schemas is answered 500 and logged, and the next record tries again", async () => {
  isBroken = true;
  const { send, handled, errors, reports } = await freshReceiver();
  const answers = await Promise.all(["a", "b"].map((id) => send(id, CONVERTED)));
  expect(answers.map(({ status, outcome }) => [status, outcome])).toEqual([
    [500, "internal_error"],
    [500, "internal_error"],
  ]);
  expect(errors).toHaveLength(2);
  expect(errors[0]).toContain("internal_error");
  expect(reports[0]?.error).toMatchObject({
    name: "SchemaLoadError",
    code: "schema_load_failed",
    cause: expect.any(Error) as unknown,
  });
  expect(handled).toEqual([]);

  // Records that need no schemas are still handled.
  expect((await send("c", PLAIN)).outcome).toBe("handled");

  isBroken = false;
  expect((await send("a", CONVERTED)).outcome).toBe("handled");
  expect(handled).toEqual([42, 42]);
});
