import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  DiscardDelivery,
  RetryLater,
  type DeliveryStore,
  type ProcessResult,
} from "../../src/index.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { deferred, never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { DOWN, rejects, throwing, throws } from "../support/faults.js";

/** The work that a receiver passes to a store. */
type Work = (tx: string) => Promise<void>;

/** Delivers once to a store with the given method `process`. */
async function deliver(
  process: (work: Work) => unknown,
  handler: (tx: string, signal: AbortSignal) => unknown = () => undefined,
) {
  const called = deferred();
  const asked = (_key: string, work: Work) => {
    called.resolve();
    return process(work);
  };
  const ran: string[] = [];
  const { receiver, reports } = observedAlarmReceiver(
    (context) => {
      const { tx, signal } = context as typeof context & { readonly tx: string };
      ran.push(tx);
      return handler(tx, signal);
    },
    {
      store: { process: asked } as object as DeliveryStore,
      handlerTimeoutMs: 2_000,
      dependencyTimeoutMs: 500,
    },
  );
  const response = receiver.receive(await delivery());
  await called.promise;
  await vi.advanceTimersByTimeAsync(10_000);
  return { response: await response, error: reports[0]?.error, ran, receiver };
}

const PROCESSED: ProcessResult = { state: "processed" };

beforeEach(() => vi.useFakeTimers());

const UNAVAILABLE = { status: 503, outcome: "store_unavailable" };

describe("impossible results of a transactional store", () => {
  it.each<[string, (work: Work) => unknown]>([
    ["throws", throws],
    ["rejects", rejects],
    ["rejects with nothing", () => ({ then: (_: unknown, reject: () => void) => reject() })],
    ["returns no promise", () => undefined],
    ["returns null", () => null],
    ["returns a text", () => "processed"],
    ["resolves to an empty object", () => Promise.resolve({})],
    ["hangs", never],
    ["returns an object whose then throws", () => ({ then: throws })],
    [
      "returns an object whose then cannot be read",
      () => Object.defineProperty({}, "then", { get: throws }),
    ],
    [
      "resolves to an object whose state cannot be read",
      () => Promise.resolve(Object.defineProperty({}, "state", { get: throws })),
    ],
    [
      "rejects and resolves",
      () => ({
        then(resolve: (said: unknown) => void, reject: (error: unknown) => void) {
          reject(DOWN);
          resolve(PROCESSED);
        },
      }),
    ],
    ["calls its work and throws", (work) => (void work("tx"), throws())],
    ["resolves to the result of its work, which is no state", (work) => work("tx")],
    [
      "resolves to the state unknown after its work",
      (work) => work("tx").then(() => ({ state: "unknown" })),
    ],
    ["reports processed before its work has settled", (work) => (void work("tx"), PROCESSED)],
    [
      "reports processed and does not await its work, which fails",
      (work) => (void work("fails"), PROCESSED),
    ],
    ["ignores the rejection of its work", (work) => work("fails").then(noop, noop)],
  ])("the answer is 503 if a transactional store %s", async (_how, process) => {
    const { response } = await deliver(process, async (tx) => {
      await Promise.resolve();
      if (tx === "fails") throw new Error("the handler fails");
    });
    expect(response).toMatchObject(UNAVAILABLE);
  });

  it("the report shows a handler's error that a transactional store has ignored", async () => {
    const cause = new Error("the handler's own");
    const { response, error } = await deliver(
      (work) => work("tx").then(noop, noop),
      () => Promise.reject(cause),
    );
    expect(response).toMatchObject(UNAVAILABLE);
    expect(error).toMatchObject({ code: "unexpected_result", cause });
  });

  it.each<[string, () => unknown]>([
    ["resolves to nothing", () => Promise.resolve()],
    ["reports processed without calling its work", () => Promise.resolve(PROCESSED)],
    ["resolves to an unknown state", () => Promise.resolve({ state: "PROCESSED" })],
  ])("the report names an impossible result if a transactional store %s", async (_how, process) => {
    const { response, error } = await deliver(process);
    expect(response).toMatchObject(UNAVAILABLE);
    const message = "store.process returned an impossible result";
    expect(error).toMatchObject({ code: "unexpected_result", message });
  });

  it.each([
    [new RetryLater(), { outcome: "retry_later" }],
    [new Error("of the handler"), { outcome: "handler_failed" }],
    [new DiscardDelivery(), UNAVAILABLE],
  ])("a rollback that hangs after %s is answered by what is known", async (thrown, expected) => {
    let calls = 0;
    const { response } = await deliver(
      (work) => ((calls += 1) === 1 ? work("tx").catch(() => never()) : work("tx").then(noop)),
      () => Promise.reject(thrown),
    );
    expect(response).toMatchObject(expected);
    expect(calls).toBe(1);
  });

  it("a discarded delivery is not acknowledged if the transactional store does not run its work", async () => {
    let calls = 0;
    const { response } = await deliver(
      (work) => ((calls += 1) === 1 ? work("tx") : Promise.resolve(PROCESSED)),
      throwing(new DiscardDelivery()),
    );
    expect(response).toMatchObject(UNAVAILABLE);
    expect(calls).toBe(2);
  });

  it.each([
    ["a text", "soon", "10"],
    ["not finite", Number.NaN, "10"],
    ["negative", -5, "1"],
    ["missing", undefined, "10"],
  ])(
    "in_flight from a transactional store is answered 409 if retryAfterMs is %s",
    async (_what, retryAfterMs, header) => {
      const { response } = await deliver(() =>
        Promise.resolve({ state: "in_flight", retryAfterMs }),
      );
      expect(response).toMatchObject({ status: 409, headers: { "retry-after": header } });
    },
  );
});

describe("calls of the work", () => {
  it("a transactional store that calls its work twice at once runs one handler", async () => {
    const refused: unknown[] = [];
    const { response, ran } = await deliver(async (work) => {
      const first = work("first");
      await work("second").catch((error: unknown) => refused.push(error));
      await first;
      return PROCESSED;
    }, Promise.resolve.bind(Promise));
    expect(ran).toEqual(["first"]);
    const message = "store.process called its work too late, or a second time at once";
    expect(refused).toMatchObject([{ code: "unexpected_result", message }]);
    expect(response).toMatchObject({ status: 200, outcome: "handled" });
  });

  it.each<[string, (work: Work) => unknown]>([
    ["has rejected", rejects],
    ["has reported processed", () => Promise.resolve(PROCESSED)],
    ["was given up", never],
  ])(
    "a transactional store that calls its work after it %s runs no handler",
    async (_when, process) => {
      let late: Work = () => Promise.resolve();
      const { response, ran } = await deliver((work) => {
        late = work;
        return process(work);
      });
      expect(response).toMatchObject(UNAVAILABLE);
      await expect(late("tx")).rejects.toThrow("too late");
      expect(ran).toEqual([]);
    },
  );

  it("a transactional store that repeats its work forever is given up after handlerTimeoutMs", async () => {
    const { response, ran, error } = await deliver(
      async (work) => {
        for (let attempt = 0; attempt < 1_000; attempt++) {
          await work("tx");
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
        return PROCESSED;
      },
      () => new Promise((resolve) => setTimeout(resolve, 300)),
    );
    // The fourth run is at work when the answer is due.
    expect(response).toMatchObject({ status: 503, outcome: "handler_timeout" });
    const message = "the delivery, from its arrival on, took longer than 2000 ms";
    expect(error).toHaveProperty("message", message);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ran).toHaveLength(4);
  });

  it("a transactional store that repeats its work too late cannot report processed", async () => {
    const { response } = await deliver(async (work) => {
      await work("tx");
      for (let ms = 0; ms < 2_100; ms += 300) {
        await new Promise((resolve) => setTimeout(resolve, 300));
        await work("tx").catch(noop);
      }
      return PROCESSED;
    });
    expect(response).toMatchObject(UNAVAILABLE);
  });
});

const impossible = expect.objectContaining({ code: "unexpected_result" }) as object;
const completed = () => Promise.resolve({ state: "completed" });
it.each<[string, () => Promise<object>, object]>([
  ["whose store rejects", rejects, DOWN],
  ["that its store reports as processed too early", () => Promise.resolve(PROCESSED), impossible],
  ["that another process has completed", completed, impossible],
])("a transaction %s aborts the signal and is answered 503", async (_how, end, error) => {
  const aborted = deferred<unknown>();
  const { response, ...scene } = await deliver(
    (work) => {
      void work("tx");
      return end();
    },
    (_tx, signal) => {
      signal.addEventListener("abort", () => aborted.resolve(signal.reason));
      return aborted.promise;
    },
  );
  expect(await aborted.promise).toMatchObject({
    name: "GatewayWebhookError",
    code: "transaction_lost",
    message: "the transaction of this delivery is lost: it will be sent again",
  });
  expect(response).toMatchObject(UNAVAILABLE);
  expect(scene.error).toEqual(error);
  await scene.receiver.drain();
});

function noop(): ProcessResult {
  return PROCESSED;
}
