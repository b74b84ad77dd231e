import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryContext, type DeliveryStore } from "../../src/index.js";
import { answerOf, heldRun, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { NOW_MS, NOW_SECONDS, TEST_SECRET, alarm, delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";

it("the handler context contains id, type, timestamp, raw body, signal and takeover", async () => {
  const { send, runs } = observedAlarmReceiver();
  await send(await delivery({ id: "some.id_1-2", timestamp: NOW_SECONDS - 7 }));
  const [given] = runs;
  expect(given).toMatchObject({
    id: "some.id_1-2",
    type: "new_alarm",
    timestamp: new Date(NOW_MS - 7_000),
    takeover: false,
  });
  expect(given?.signal).toBeInstanceOf(AbortSignal);
  expect(given?.signal.aborted).toBe(false);
});

it.each(["string", "bytes"])("rawBody has the exact bytes of a body sent as %s", async (form) => {
  const text = `\uFEFF {"alarm" : ${JSON.stringify(alarm({ text: "Ålarm – \u{1F511}" }))}}\r\n\t `;
  const bytes = new TextEncoder().encode(text);
  const { send, runs } = observedAlarmReceiver();
  expect(await send(await delivery({ body: form === "string" ? text : bytes }))).toBe(
    "200 handled",
  );
  expect(runs[0]?.rawBody).toBeInstanceOf(Uint8Array);
  expect(Array.from(runs[0]?.rawBody ?? [])).toEqual(Array.from(bytes));
});

it.each<[string, (context: DeliveryContext, key: PropertyKey) => void]>([
  ["empties it", (context, key) => Reflect.deleteProperty(context, key)],
  [
    "freezes it and all in it",
    (context, key) => {
      const value: unknown = Reflect.get(context, key);
      if (!ArrayBuffer.isView(value)) Object.freeze(value);
      Object.freeze(context);
    },
  ],
  [
    "writes over it",
    (context, key) => Object.defineProperty(context, key, { value: "tampered" }) as object,
  ],
])("a late handler that %s is answered and settled like any other handler", async (_, tamper) => {
  vi.useFakeTimers();
  const completed: string[] = [];
  const store: DeliveryStore = { ...memoryStore(), complete: (key) => void completed.push(key) };
  const { receiver, run, repeated, send } = await heldRun({ handlerTimeoutMs: 50, store });
  for (const key of Reflect.ownKeys(run.context)) tamper(run.context, key);
  await pass(60);
  expect(await answerOf(run.answer)).toBe("503 handler_timeout");
  expect(await send()).toBe("409 in_flight");
  run.resolve();
  await receiver.drain();
  expect(completed).toEqual([repeated.headers["x-webhook-id"]]);
});

// On runtimes where it is cheap, the signal is made with the context, otherwise on first access. Handlers
// must see no difference, so each runtime is simulated while the package loads.
describe.each([
  ["Node 20", "20.20.2", 0],
  ["Node 22", "22.0.0", 1],
  ["a runtime that does not say which Node it is", undefined, 0],
] as const)("on %s", (_, node, madeUnasked) => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.resetModules();
  });
  afterEach(() => {
    vi.resetModules();
  });

  /** Starts a receiver that was loaded on that runtime, and has its handler run until `end`. `given` is its context. */
  async function started(
    look: (context: DeliveryContext) => void = () => undefined,
    options: Partial<CommonReceiverOptions> = {},
  ) {
    // Inherits from the real process, because the loaded code reads other members too.
    vi.stubGlobal("process", Object.create(process, { versions: { value: { node } } }));
    const { createWebhookReceiver } = await import("../../src/index.js");
    vi.unstubAllGlobals();
    const made = countControllers();
    const [called, held] = [deferred<DeliveryContext>(), deferred()];
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      now: () => NOW_MS,
      handlerTimeoutMs: 50,
      handlers: {
        new_alarm: (_alarm, context) => {
          look(context);
          called.resolve(context);
          return held.promise;
        },
      },
      ...options,
    });
    const answer = receiver.receive(await delivery());
    const given = await called.promise;
    const end = () => {
      held.resolve();
      return receiver.drain();
    };
    return { answer, given, made, end };
  }

  /** Counts the AbortControllers that are created from now on. */
  function countControllers() {
    const count = { made: 0 };
    const Real = AbortController;
    class Counted extends Real {
      constructor() {
        super();
        count.made += 1;
      }
    }
    vi.stubGlobal("AbortController", Counted);
    return count;
  }

  it(`a handler that does not read its signal costs ${madeUnasked} signals, one that reads it costs 1`, async () => {
    const { given, made, end } = await started();
    expect(made.made).toBe(madeUnasked);
    expect(given.signal).toBe(given.signal);
    expect(given.signal.aborted).toBe(false);
    expect(made.made).toBe(1);
    await end();
  });

  it("the context lists signal among its own keys", async () => {
    const { given, end } = await started();
    const names = ["id", "rawBody", "signal", "takeover", "timestamp", "type"];
    expect(Object.keys(given).sort()).toEqual(names);
    expect(given.signal).toBeInstanceOf(AbortSignal);
    await end();
  });

  it("a handler that first reads the signal after two reasons to abort finds the first one", async () => {
    const { memoryStore } = await import("../../src/index.js");
    const store = { ...memoryStore(), renew: () => false };
    const { answer, given, end } = await started(undefined, { leaseMs: 1_000, store });
    await pass(50);
    expect((await answer).outcome).toBe("handler_timeout");
    // The lease is lost at its first renewal.
    await pass(1_000);
    expect(given.signal.aborted).toBe(true);
    expect(given.signal.reason).toMatchObject({ name: "DeadlineError" });
    expect(given.signal).toBe(given.signal);
    await end();
  });

  it.each<[string, (context: DeliveryContext) => DeliveryContext]>([
    ["is spread", (context) => ({ ...context })],
    ["is inherited from", (context) => Object.create(context) as DeliveryContext],
    ["is proxied", (context) => new Proxy(context, {})],
  ])("a context that %s has the signal that aborts", async (_what, wrap) => {
    let signal: AbortSignal | undefined;
    const { answer, end } = await started((context) => ({ signal } = wrap(context)));
    await pass(49);
    expect(signal?.aborted).toBe(false);
    await pass(1);
    await answer;
    expect(signal?.aborted).toBe(true);
    await end();
  });
});
