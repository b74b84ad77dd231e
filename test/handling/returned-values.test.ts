import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { ConfigurationError, createWebhookReceiver, memoryStore } from "../../src/index.js";
import { inboxJobOf } from "../../src/inbox/inbox-job.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { calledWorker } from "../support/inbox/called-worker.js";
import { createCollector } from "../support/collector.js";
import { NOW_MS, TEST_SECRET, alarm, delivery } from "../support/deliveries.js";

/** The warnings about two deliveries whose handler returns a value. */
async function warningsOf(returned: () => unknown): Promise<readonly string[]> {
  const { receiver, lines, reports } = observedAlarmReceiver(returned);
  await receiver.receive(await delivery({ id: "one" }));
  await receiver.receive(await delivery({ id: "two" }));
  expect(reports.map(({ outcome }) => outcome)).toEqual(["handled", "handled"]);
  expect(lines.every(({ level }) => level === "warn")).toBe(true);
  return lines.map(({ message }) => message);
}

test.each<[string, () => unknown, string]>([
  ["false", () => false, "returned false, which is ignored"],
  ["a promise of false", () => Promise.resolve(false), "returned false, which is ignored"],
  ["an object with a status", () => ({ status: 500 }), "returned an object with a status"],
  [
    "a promise of an object with a statusCode",
    () => Promise.resolve({ statusCode: 503, body: "" }),
    "returned an object with a status",
  ],
  ["an error", () => new TypeError("no"), "returned an error, which is ignored"],
  ["a promise of an error", () => Promise.resolve(new Error("no")), "returned an error"],
  [
    "an error of another realm",
    (): unknown => runInNewContext("new Error('no')"),
    "returned an error",
  ],
  ["a list with an error", () => [1, new Error("no")], "returned an error"],
  [
    "rejections of Promise.allSettled",
    () => Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("no"))]),
    "returned rejections of Promise.allSettled, which is ignored",
  ],
  ["a Response", () => new Response(null, { status: 500 }), "returned an object with a status"],
])("a handler that returns %s warns once and is handled", async (_what, returned, expected) => {
  const warnings = await warningsOf(returned);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(expected);
  expect(warnings[0]).toContain("throw RetryLater");
});

test("a handler that returns false after its time-out warns too, once", async () => {
  const ends: (() => void)[] = [];
  const handler = () =>
    new Promise((resolve) => {
      ends.push(() => {
        resolve(false);
      });
    });
  const { receiver, lines } = observedAlarmReceiver(handler, { handlerTimeoutMs: 1 });
  for (const id of ["one", "two"]) await receiver.receive(await delivery({ id }));
  for (const end of ends) end();
  await receiver.drain();
  const warnings = lines.filter(({ message }) => message.includes("returned false"));
  expect(warnings).toHaveLength(1);
});

test.each<[string, () => unknown]>([
  ["nothing", () => undefined],
  ["null", () => null],
  ["true", () => true],
  ["a number", () => 500],
  [
    "the results of Promise.allSettled without rejections",
    () => Promise.allSettled([Promise.resolve(1)]),
  ],
  ["a list with nothing in it", () => [undefined, null]],
  ["a status that is text", () => ({ status: "sent" })],
  [
    "an object that throws when it is read",
    () => ({
      get status() {
        throw new Error("no");
      },
    }),
  ],
])("a handler that returns %s causes no warning", async (_what, returned) => {
  expect(await warningsOf(returned)).toEqual([]);
});

test("an inbox worker warns once about a returned false too", async () => {
  const { options, lines } = createCollector();
  const work = calledWorker({ handlers: { new_alarm: () => false }, logger: options.logger });
  const job = inboxJobOf({
    id: "one",
    type: "new_alarm",
    timestamp: new Date(NOW_MS),
    rawBody: new TextEncoder().encode(JSON.stringify({ alarm: alarm() })),
    signal: new AbortController().signal,
    takeover: false,
  });
  expect(await work(job)).toMatchObject({ outcome: "handled" });
  expect(await work(job)).toMatchObject({ outcome: "handled" });
  expect(lines.map(({ message }) => message)).toEqual([
    expect.stringContaining("a handler returned false, which is ignored"),
  ]);
});

const sync = function* () {
  yield 1;
};
const asynchronous = async function* () {
  yield await Promise.resolve(1);
};
const REFUSED: readonly [string, object, string][] = [
  ["a sync one", { new_alarm: sync }, "handlers.new_alarm"],
  ["an async one", { new_alarm: asynchronous }, "handlers.new_alarm"],
  ["one for all events", { delete_my_data_event: sync }, "handlers.delete_my_data_event"],
  [
    "one for an event type",
    { delete_my_data_event: { DATA_DELETED: asynchronous } },
    "handlers.delete_my_data_event.DATA_DELETED",
  ],
  ["one for what is unrecognized", { unrecognized: sync }, "handlers.unrecognized"],
];
test.each(REFUSED)("a generator function is no handler: %s", (_what, handlers, name) => {
  const make = () => createWebhookReceiver({ secret: TEST_SECRET, handlers, store: memoryStore() });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(`${name} is a generator function`);
});
