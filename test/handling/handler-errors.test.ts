import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  DiscardDelivery,
  RetryLater,
  createWebhookReceiver,
  memoryStore,
} from "../../src/index.js";
import { inboxJobOf } from "../../src/inbox/inbox-job.js";
import {
  DUPLICATE,
  FAILED,
  HANDLED,
  answerOf,
  heldHandler,
  heldRun,
  observedAlarmReceiver,
} from "../support/alarm-receiver.js";
import { createCollector, linesWith } from "../support/collector.js";
import { deferred } from "../support/deferred.js";
import { TEST_SECRET, delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { calledWorker } from "../support/inbox/called-worker.js";

const WAYS: [string, (error: unknown) => () => unknown][] = [
  ["throws", throwing],
  ["rejects with", (error) => () => Promise.reject(error)],
];

/** Receives a delivery and one redelivery of it. */
async function receiveTwice(handler: () => unknown) {
  const { receiver, reports, lines, runs } = observedAlarmReceiver(handler);
  const response = await receiver.receive(await delivery());
  const second = await answerOf(receiver.receive(await delivery()));
  return { response, first: await answerOf(response), second, reports, lines, runs };
}

describe.each(WAYS)("a handler that %s", (_way, failing) => {
  it.each<[string, unknown]>([
    ["an Error", new Error("database is away")],
    ["a frozen object", Object.freeze({ code: 7 })],
    ["a string", "database is away"],
    ["zero", 0],
    ["null", null],
    ["a symbol", Symbol("away")],
    ["something that looks like RetryLater", { name: "RetryLater", afterMs: 1_000 }],
  ])("a handler that fails with %s is 500 and releases the claim", async (_what, error) => {
    const { response, first, second, reports, lines, runs } = await receiveTwice(failing(error));
    expect([first, second]).toEqual([FAILED, FAILED]);
    expect(response.headers).not.toHaveProperty("retry-after");
    expect(JSON.stringify(response)).not.toContain("database is away");
    expect(reports[0]).toHaveProperty("error", error);
    expect(lines[0]).toMatchObject({ level: "error", details: { err: error } });
    expect(runs).toHaveLength(2);
  });

  it("a handler that fails with undefined is 500 with an error that says so", async () => {
    const { first, second, reports } = await receiveTwice(failing(undefined));
    expect([first, second]).toEqual([FAILED, FAILED]);
    expect(reports[0]?.error).toMatchObject({ message: "the handler threw undefined" });
  });

  it.each<[unknown, string]>([
    [undefined, "60"],
    [1_000, "1"],
    [1_001, "2"],
    [0.5, "1"],
    [0, "1"],
    [-1, "1"],
    [86_400_000, "86400"],
    [86_400_001, "86400"],
    [Number.MAX_VALUE, "86400"],
    [Number.POSITIVE_INFINITY, "60"],
    [Number.NEGATIVE_INFINITY, "60"],
    [Number.NaN, "60"],
    ["5000", "60"],
    [null, "60"],
  ])("RetryLater of %s ms answers 503 with Retry-After %s", async (afterMs, seconds) => {
    const error = new RetryLater({ afterMs: afterMs as number });
    const { response, first, second, reports, lines, runs } = await receiveTwice(failing(error));
    expect([first, second]).toEqual(["503 retry_later", "503 retry_later"]);
    expect(response.headers["retry-after"]).toBe(seconds);
    expect(reports[0]?.error).toBe(error);
    expect(lines[0]?.level).toBe("warn");
    expect(runs).toHaveLength(2);
  });

  it("DiscardDelivery is 200, and the redelivery is a duplicate", async () => {
    const error = new DiscardDelivery({ reason: "unknown account" });
    const { response, first, second, reports, lines, runs } = await receiveTwice(failing(error));
    expect([first, second]).toEqual(["200 discarded", DUPLICATE]);
    expect(response.body).toBe('{"outcome":"discarded"}');
    expect(reports[0]?.error).toBe(error);
    expect(lines[0]).toMatchObject({ level: "warn", details: { err: error } });
    expect(runs).toHaveLength(1);
  });

  it("subclasses of DiscardDelivery and RetryLater are treated like them", async () => {
    class AccountClosed extends DiscardDelivery {}
    class RateLimited extends RetryLater {}
    expect((await receiveTwice(failing(new AccountClosed()))).first).toBe("200 discarded");
    expect((await receiveTwice(failing(new RateLimited()))).first).toBe("503 retry_later");
  });
});

describe("RetryLater and DiscardDelivery", () => {
  const cause = new Error("429");
  it.each([
    [new RetryLater({ afterMs: 5, reason: "limited", cause }), "RetryLater", "limited", 5, cause],
    [new RetryLater(), "RetryLater", "retry later", undefined, undefined],
    [
      new DiscardDelivery({ reason: "closed", cause }),
      "DiscardDelivery",
      "closed",
      undefined,
      cause,
    ],
    [new DiscardDelivery(), "DiscardDelivery", "discarded", undefined, undefined],
  ])("%s keeps its message, delay and cause", (error, name, message, afterMs, given) => {
    expect(error).toMatchObject({ name, message, ...(error instanceof RetryLater && { afterMs }) });
    expect("cause" in error).toBe(given !== undefined);
    expect(error.cause).toBe(given);
  });

  const unreadable = new Proxy({}, { get: throwing(new Error("no option can be read")) });
  it.each<[string, unknown]>([
    ["a text", "account closed"],
    ["a number", 5_000],
    ["null", null],
    ["an array", ["account closed"]],
    ["a reason that is no text", { reason: Symbol("closed") }],
    ["a delay that is no number", { afterMs: "soon" }],
    ["options that throw", unreadable],
  ])(
    "RetryLater and DiscardDelivery keep the handler's intent if their argument is %s",
    async (_what, argument) => {
      const discarded = await receiveTwice(throwing(new DiscardDelivery(argument as object)));
      expect(discarded.first).toBe("200 discarded");
      expect(discarded.reports[0]?.error).toMatchObject({ message: "discarded" });
      const retried = await receiveTwice(throwing(new RetryLater(argument as object)));
      expect(retried.first).toBe("503 retry_later");
      expect(retried.response.headers["retry-after"]).toBe("60");
      const error = { message: "retry later", afterMs: undefined };
      expect(retried.reports[0]?.error).toMatchObject(error);
    },
  );
});

describe("returned values", () => {
  /** Every handler has handled what it did not throw. The lines are warnings. */
  async function warningsOf(returned: () => unknown): Promise<readonly string[]> {
    const { send, lines, runs } = observedAlarmReceiver(returned);
    for (const id of ["one", "two"]) expect(await send(id)).toBe(HANDLED);
    for (const id of ["one", "two"]) expect(await send(id)).toBe(DUPLICATE);
    expect(runs).toHaveLength(2);
    expect(lines.every(({ level }) => level === "warn")).toBe(true);
    return lines.map(({ message }) => message);
  }

  const settled = () => Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("no"))]);
  it.each<[string, () => unknown, string]>([
    ["false", () => false, "returned false, which is ignored"],
    ["an object with a status", () => ({ status: 500 }), "returned an object with a status"],
    ["a statusCode", () => ({ statusCode: 503, body: "" }), "returned an object with a status"],
    ["an error", () => new TypeError("no"), "returned an error, which is ignored"],
    ["another realm's error", () => runInNewContext("new Error('no')") as unknown, "an error"],
    ["a list with an error", () => [1, new Error("no")], "returned an error"],
    [
      "rejections of Promise.allSettled",
      settled,
      "returned rejections of Promise.allSettled, which is ignored",
    ],
    ["a Response", () => new Response(null, { status: 500 }), "returned an object with a status"],
  ])(
    "a handler that returns or resolves to %s warns once and is handled",
    async (_what, returned, text) => {
      for (const handler of [returned, () => Promise.resolve(returned())]) {
        const warnings = await warningsOf(handler);
        expect(warnings).toEqual([expect.stringContaining(text)]);
        expect(warnings[0]).toContain("throw RetryLater");
      }
    },
  );

  const unreadable = Object.defineProperty({}, "status", { get: throwing(new Error("no")) });
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["true", true],
    ["a number", 500],
    ["the results of Promise.allSettled without rejections", [{ status: "fulfilled", value: 1 }]],
    ["a status that is text", { status: "sent" }],
    ["an object that throws when it is read", unreadable],
    ["an object with a then that is no function", { then: true }],
    ["a function", () => undefined],
  ])(
    "a handler that returns or resolves to %s is handled without a warning",
    async (_what, value) => {
      expect(await warningsOf(() => value)).toEqual([]);
      expect(await warningsOf(() => Promise.resolve(value))).toEqual([]);
    },
  );

  it("a handler that returns false after its time-out warns too, once", async () => {
    const end = deferred<boolean>();
    const { receiver, lines, send } = observedAlarmReceiver(() => end.promise, {
      handlerTimeoutMs: 1,
    });
    for (const id of ["one", "two"]) await send(id);
    end.resolve(false);
    await receiver.drain();
    expect(linesWith(lines, "returned false")).toHaveLength(1);
  });

  it("an inbox worker warns once about a returned false too", async () => {
    const { options, lines } = createCollector();
    const work = calledWorker({ handlers: { new_alarm: () => false }, logger: options.logger });
    const { run } = await heldRun();
    const job = inboxJobOf(run.context);
    await run.succeed();
    for (let time = 0; time < 2; time++)
      expect(await work(job)).toMatchObject({ outcome: "handled" });
    expect(lines.map(({ message }) => message)).toEqual([
      expect.stringContaining("a handler returned false, which is ignored"),
    ]);
  });
});

describe("returned thenables", () => {
  /** Returned by query builders and other promise libraries: an object with only a `then`. */
  function thenable(
    start: (resolve: (value: unknown) => void, reject: (e: unknown) => void) => void,
  ) {
    return { then: start } as PromiseLike<unknown>;
  }

  it("a returned thenable is awaited, and a redelivery meanwhile is in flight", async () => {
    const { handler, start } = heldHandler();
    const { receiver, send } = observedAlarmReceiver((context) => {
      const promise = handler(context);
      return thenable((resolve, reject) => void promise.then(resolve, reject));
    });
    const run = await start(receiver, await delivery());
    expect(await send()).toBe("409 in_flight");
    expect(await answerOf(run.succeed())).toBe(HANDLED);
  });

  it("a returned function with a then is awaited, as await does", async () => {
    const { handler, start } = heldHandler();
    const { receiver } = observedAlarmReceiver((context) => {
      const promise = handler(context);
      promise.catch(() => undefined);
      return Object.assign(() => undefined, { then: promise.then.bind(promise) });
    });
    const run = await start(receiver, await delivery());
    expect(await answerOf(run.fail(new Error("failed after a while")))).toBe(FAILED);
  });

  const rejecting = (error: unknown) => thenable((_resolve, reject) => reject(error));

  it("a returned thenable that fails is 500, by its callback and by throwing", async () => {
    const error = new Error("query failed");
    const resolvesToRejected = thenable((resolve) => resolve(Promise.reject(error)));
    for (const returned of [rejecting(error), thenable(throwing(error)), resolvesToRejected]) {
      const { first, reports } = await receiveTwice(() => returned);
      expect(first).toBe(FAILED);
      expect(reports[0]?.error).toBe(error);
    }
  });

  it.each([
    ["503 retry_later", new RetryLater()],
    ["200 discarded", new DiscardDelivery()],
  ])("a returned thenable that fails as %s is treated like a promise", async (answer, error) => {
    expect((await receiveTwice(() => rejecting(error))).first).toBe(answer);
  });

  it("a returned thenable whose then cannot be read is 500", async () => {
    const get = throwing(new Error("no then for you"));
    const returned = Object.defineProperty({}, "then", { get });
    const { first } = await receiveTwice(() => returned);
    expect(first).toBe(FAILED);
  });

  it("a returned thenable that settles twice counts by the first time", async () => {
    const { first } = await receiveTwice(() =>
      thenable((resolve, reject) => {
        resolve(undefined);
        reject(new Error("too late"));
      }),
    );
    expect(first).toBe(HANDLED);
  });
});

const sync = function* () {
  yield 1;
};
const asynchronous = async function* () {
  yield await Promise.resolve(1);
};
it.each<[string, object, string]>([
  ["a sync one", { new_alarm: sync }, "new_alarm"],
  ["an async one", { new_alarm: asynchronous }, "new_alarm"],
  ["one for all events", { delete_my_data_event: sync }, "delete_my_data_event"],
  [
    "one for an event type",
    { delete_my_data_event: { DATA_DELETED: asynchronous } },
    "delete_my_data_event.DATA_DELETED",
  ],
  ["one for what is unrecognized", { unrecognized: sync }, "unrecognized"],
])("a generator function is no handler: %s", (_what, handlers, name) => {
  const make = () => createWebhookReceiver({ secret: TEST_SECRET, handlers, store: memoryStore() });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(`handlers.${name} is a generator function`);
});
