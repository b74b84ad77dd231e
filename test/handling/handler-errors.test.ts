import { describe, expect, it } from "vitest";
import { DiscardDelivery, RetryLater } from "../../src/index.js";
import { alarmReceiver, heldHandler, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { delivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";

const WAYS: [string, (error: unknown) => () => unknown][] = [
  ["throws", throwing],
  ["rejects with", (error) => () => Promise.reject(error)],
];

/** Receives a delivery and one redelivery of it. */
async function receiveTwice(handler: () => unknown) {
  let runs = 0;
  const { receiver, reports, lines } = observedAlarmReceiver(() => {
    runs += 1;
    return handler();
  });
  const repeated = await delivery();
  const first = await receiver.receive(repeated);
  const second = await receiver.receive(repeated);
  return { first, second, reports, lines, runs: () => runs };
}

describe.each(WAYS)("a handler that %s", (_way, failing) => {
  it.each<[string, unknown]>([
    ["an Error", new Error("database is away")],
    ["a frozen object", Object.freeze({ code: 7 })],
    ["a string", "database is away"],
    ["an empty string", ""],
    ["zero", 0],
    ["false", false],
    ["null", null],
    ["a symbol", Symbol("away")],
    ["something that looks like RetryLater", { name: "RetryLater", afterMs: 1_000 }],
  ])("a handler that fails with %s is 500 and releases the claim", async (_what, error) => {
    const { first, second, reports, lines, runs } = await receiveTwice(failing(error));
    expect(first).toMatchObject({ status: 500, outcome: "handler_failed" });
    expect(first.headers).not.toHaveProperty("retry-after");
    expect(JSON.stringify(first)).not.toContain("database is away");
    expect(reports[0]).toHaveProperty("error", error);
    expect(lines[0]).toMatchObject({ level: "error", details: { err: error } });
    expect(second.outcome).toBe("handler_failed");
    expect(runs()).toBe(2);
  });

  it("a handler that fails with undefined is 500 with an error that says so", async () => {
    const { first, second, reports } = await receiveTwice(failing(undefined));
    expect(first).toMatchObject({ status: 500, outcome: "handler_failed" });
    expect(reports[0]?.error).toMatchObject({ message: "the handler threw undefined" });
    expect(second.outcome).toBe("handler_failed");
  });

  it.each<[number | undefined, string]>([
    [undefined, "60"],
    [60_000, "60"],
    [1_000, "1"],
    [1_001, "2"],
    [1, "1"],
    [0.5, "1"],
    [0, "1"],
    [-1, "1"],
    [-86_400_000, "1"],
    [86_400_000, "86400"],
    [86_400_001, "86400"],
    [1e15, "86400"],
    [Number.MAX_VALUE, "86400"],
    [Number.POSITIVE_INFINITY, "60"],
    [Number.NEGATIVE_INFINITY, "60"],
    [Number.NaN, "60"],
    ["5000" as unknown as number, "60"],
    [null as unknown as number, "60"],
  ])("RetryLater of %s ms answers 503 with Retry-After %s", async (afterMs, seconds) => {
    const error = new RetryLater({ afterMs });
    const { first, second, reports, lines, runs } = await receiveTwice(failing(error));
    expect(first).toMatchObject({ status: 503, outcome: "retry_later" });
    expect(first.headers["retry-after"]).toBe(seconds);
    expect(reports[0]?.error).toBe(error);
    expect(lines[0]?.level).toBe("warn");
    expect(second.outcome).toBe("retry_later");
    expect(runs()).toBe(2);
  });

  it("RetryLater without options is 503 with Retry-After 60", async () => {
    const { first } = await receiveTwice(failing(new RetryLater()));
    expect(first).toMatchObject({ status: 503, headers: { "retry-after": "60" } });
  });

  it("DiscardDelivery is 200, and the redelivery is a duplicate", async () => {
    const error = new DiscardDelivery({ reason: "unknown account" });
    const { first, second, reports, lines, runs } = await receiveTwice(failing(error));
    expect(first).toMatchObject({ status: 200, outcome: "discarded" });
    expect(first.body).toBe('{"outcome":"discarded"}');
    expect(reports[0]?.error).toBe(error);
    expect(lines[0]).toMatchObject({ level: "warn", details: { err: error } });
    expect(second).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(runs()).toBe(1);
  });

  it("subclasses of DiscardDelivery and RetryLater are treated like them", async () => {
    class AccountClosed extends DiscardDelivery {}
    class RateLimited extends RetryLater {}
    expect((await receiveTwice(failing(new AccountClosed()))).first.outcome).toBe("discarded");
    expect((await receiveTwice(failing(new RateLimited()))).first.outcome).toBe("retry_later");
  });
});

describe("RetryLater and DiscardDelivery", () => {
  it("RetryLater and DiscardDelivery keep their message, delay and cause", () => {
    const cause = new Error("429");
    const retry = new RetryLater({ afterMs: 5, reason: "rate limited", cause });
    expect(retry).toMatchObject({ name: "RetryLater", message: "rate limited", afterMs: 5, cause });
    expect(new RetryLater()).toMatchObject({ message: "retry later", afterMs: undefined });
    expect(new RetryLater()).not.toHaveProperty("cause");
    expect(new DiscardDelivery({ reason: "closed" })).toMatchObject({
      name: "DiscardDelivery",
      message: "closed",
    });
    expect(new DiscardDelivery().message).toBe("discarded");
    expect(new DiscardDelivery()).not.toHaveProperty("cause");
    expect(new DiscardDelivery({ reason: "closed", cause })).toMatchObject({ cause });
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
      expect(discarded.first).toMatchObject({ status: 200, outcome: "discarded" });
      expect(discarded.reports[0]?.error).toMatchObject({ message: "discarded" });
      const retried = await receiveTwice(throwing(new RetryLater(argument as object)));
      expect(retried.first).toMatchObject({ status: 503, headers: { "retry-after": "60" } });
      const error = { message: "retry later", afterMs: undefined };
      expect(retried.reports[0]?.error).toMatchObject(error);
    },
  );
});

describe("returned values", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["false", false],
    ["an Error", new Error("returned, not thrown")],
    ["an answer of its own", { status: 500 }],
    ["an object with a then that is no function", { then: true }],
    ["a function", () => undefined],
  ])("a handler that returns or resolves to %s has handled it", async (_what, value) => {
    for (const handler of [() => value, () => Promise.resolve(value)]) {
      const { first, second, runs } = await receiveTwice(handler);
      expect(first).toMatchObject({ status: 200, outcome: "handled" });
      expect(second.outcome).toBe("duplicate");
      expect(runs()).toBe(1);
    }
  });

  /** Returned by query builders and other promise libraries: an object with only a `then`. */
  function thenable(
    start: (resolve: (value: unknown) => void, reject: (e: unknown) => void) => void,
  ) {
    return { then: start } as PromiseLike<unknown>;
  }

  it("a returned thenable is awaited, and a redelivery meanwhile is in flight", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver((context) => {
      const promise = handler(context);
      return thenable((resolve, reject) => void promise.then(resolve, reject));
    });
    const repeated = await delivery();
    const run = await start(receiver, repeated);
    expect((await receiver.receive(repeated)).outcome).toBe("in_flight");
    expect((await run.succeed()).outcome).toBe("handled");
  });

  it("a returned function with a then is awaited, as await does", async () => {
    const { handler, start } = heldHandler();
    const receiver = alarmReceiver((context) => {
      const promise = handler(context);
      promise.catch(() => undefined);
      return Object.assign(() => undefined, { then: promise.then.bind(promise) });
    });
    const run = await start(receiver, await delivery());
    expect((await run.fail(new Error("failed after a while"))).outcome).toBe("handler_failed");
  });

  const rejecting = (error: unknown) => thenable((_resolve, reject) => reject(error));

  it("a returned thenable that fails is 500, by its callback and by throwing", async () => {
    const error = new Error("query failed");
    const resolvesToRejected = thenable((resolve) => resolve(Promise.reject(error)));
    for (const returned of [rejecting(error), thenable(throwing(error)), resolvesToRejected]) {
      const { first, reports } = await receiveTwice(() => returned);
      expect(first).toMatchObject({ status: 500, outcome: "handler_failed" });
      expect(reports[0]?.error).toBe(error);
    }
  });

  it.each([
    ["retry_later", new RetryLater()],
    ["discarded", new DiscardDelivery()],
  ])("a returned thenable that fails with %s is treated like a promise", async (outcome, error) => {
    expect((await receiveTwice(() => rejecting(error))).first.outcome).toBe(outcome);
  });

  it("a returned thenable whose then cannot be read is 500", async () => {
    const returned = Object.defineProperty({}, "then", {
      get: throwing(new Error("no then for you")),
    });
    const { first } = await receiveTwice(() => returned);
    expect(first).toMatchObject({ status: 500, outcome: "handler_failed" });
  });

  it("a returned thenable that settles twice counts by the first time", async () => {
    const { first } = await receiveTwice(() =>
      thenable((resolve, reject) => {
        resolve(undefined);
        reject(new Error("too late"));
      }),
    );
    expect(first.outcome).toBe("handled");
  });
});
