import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type * as Library from "../../src/index.js";
import type {} from "../../src/index.js";
import { NOW_MS, TEST_SECRET, alarm, delivery, eventDelivery } from "../support/deliveries.js";
import { createCollector } from "../support/collector.js";

const VALIDATION = "../../src/records/validation.js";
/** A record that needs conversion, and therefore the schemas. */
const CONVERTED = JSON.stringify({ alarm: alarm({ account_id: "42" }) });
const PLAIN = JSON.stringify({ alarm: alarm() });

let loads: number;
let isHanging: boolean;
let isBroken: boolean;

// Each test imports a library that has not loaded its schemas.
beforeEach(() => {
  loads = 0;
  isBroken = false;
  isHanging = false;
  vi.resetModules();
  vi.doMock(VALIDATION, async (importOriginal) => {
    loads += 1;
    await Promise.resolve();
    if (isHanging) await new Promise(() => undefined);
    if (isBroken) throw new Error("cannot find zod");
    return importOriginal();
  });
});

afterEach(() => {
  vi.doUnmock(VALIDATION);
  vi.resetModules();
});

async function freshReceiver(dependencyTimeoutMs?: number) {
  const { createWebhookReceiver }: typeof Library = await import("../../src/index.js");
  const handled: unknown[] = [];
  const { options, lines, reports } = createCollector();
  const { receive } = createWebhookReceiver({
    ...{ secret: TEST_SECRET, now: () => NOW_MS, dependencyTimeoutMs, ...options },
    handlers: { new_alarm: ({ account_id }) => handled.push(account_id) },
  });
  const send = async (id: string, body: string) => receive(await delivery({ id, body }));
  return { send, handled, errors: () => lines.filter(({ level }) => level === "error"), reports };
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
  expect(errors()).toHaveLength(2);
  expect(errors()[0]?.message).toContain("internal_error");
  expect(reports[0]?.error).toMatchObject({
    name: "GatewayWebhookError",
    code: "schema_load_failed",
    message:
      "the record schemas could not be loaded: is zod installed, and is the package complete?",
    cause: expect.any(Error) as unknown,
  });
  expect(handled).toEqual([]);

  // Records that need no schemas are still handled.
  expect((await send("c", PLAIN)).outcome).toBe("handled");

  isBroken = false;
  expect((await send("a", CONVERTED)).outcome).toBe("handled");
  expect(handled).toEqual([42, 42]);
});

test("a load of the schemas that hangs is answered 500 after dependencyTimeoutMs", async () => {
  isHanging = true;
  const { send, handled, reports } = await freshReceiver(50);
  expect(await send("a", CONVERTED)).toMatchObject({ status: 500, outcome: "internal_error" });
  expect(reports[0]?.error).toMatchObject({
    code: "deadline_exceeded",
    message: "loading the record schemas took longer than 50 ms",
  });
  expect((await send("b", PLAIN)).outcome).toBe("handled");
  expect(handled).toEqual([42]);
});

test("an event without a site that has the documented types loads no schemas", async () => {
  const { createWebhookReceiver }: typeof Library = await import("../../src/index.js");
  const types: string[] = [];
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    now: () => NOW_MS,
    logger: false,
    handlers: { delete_my_data_event: ({ type }) => types.push(type) },
  });
  await receiver.receive(await eventDelivery("POWER_OF_ATTORNEY_SIGNED"));
  expect(types).toEqual(["POWER_OF_ATTORNEY_SIGNED"]);
  expect(loads).toBe(0);
});

test("the first record that needs the schemas may be an event", async () => {
  const { createWebhookReceiver }: typeof Library = await import("../../src/index.js");
  const accounts: number[] = [];
  const { receive } = createWebhookReceiver({
    ...{ secret: TEST_SECRET, now: () => NOW_MS, logger: false },
    handlers: { delete_my_data_event: ({ account_id }) => void accounts.push(account_id) },
  });
  const event = { account_id: "42" };
  expect((await receive(await eventDelivery("DATA_DELETED", { event }))).outcome).toBe("handled");
  expect([accounts, loads]).toEqual([[42], 1]);
});
