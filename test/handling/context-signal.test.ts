import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DeliveryContext, WebhookReceiver } from "../../src/index.js";
import { deferred } from "../support/deferred.js";
import { NOW_MS, TEST_SECRET, delivery } from "../support/deliveries.js";
import type { CommonReceiverOptions } from "../support/receiver-options.js";

// On runtimes where it is cheap, the signal is made with the context, otherwise on first access. Handlers
// must see no difference, so each runtime is simulated while the package loads.

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetModules();
});
afterEach(() => {
  vi.resetModules();
});

/** Creates receivers as on that release of Node; `undefined` is a runtime other than Node. */
async function loadedOn(node: string | undefined) {
  // Inherits from the real process, because the loaded code reads other members too.
  vi.stubGlobal("process", Object.create(process, { versions: { value: { node } } }));
  const { createWebhookReceiver } = await import("../../src/index.js");
  vi.unstubAllGlobals();
  const receiverOf = (
    handler: (context: DeliveryContext) => unknown,
    options: Partial<CommonReceiverOptions> = {},
  ): WebhookReceiver =>
    createWebhookReceiver({
      secret: TEST_SECRET,
      logger: false,
      now: () => NOW_MS,
      handlerTimeoutMs: 50,
      handlers: { new_alarm: (_alarm, context) => handler(context) },
      ...options,
    });
  /** Receives a delivery until its handler runs, which `end` ends. */
  const started = async (
    look: (context: DeliveryContext) => void,
    options?: Partial<CommonReceiverOptions>,
  ) => {
    const [called, held] = [deferred(), deferred()];
    const receiver = receiverOf((context) => {
      look(context);
      called.resolve();
      return held.promise;
    }, options);
    const answer = receiver.receive(await delivery());
    await called.promise;
    const end = () => {
      held.resolve();
      return receiver.drain();
    };
    return { answer, end };
  };
  return { receiverOf, started };
}

/** Counts the AbortControllers that are created from now on. */
function countControllers() {
  const count = { made: 0 };
  const Real = AbortController;
  vi.stubGlobal(
    "AbortController",
    class extends Real {
      constructor() {
        super();
        count.made += 1;
      }
    },
  );
  return count;
}

describe.each([
  ["Node 20", "20.20.2", 0],
  ["Node 22", "22.0.0", 1],
  ["a runtime that does not say which Node it is", undefined, 0],
] as const)("on %s", (_, node, madeUnasked) => {
  it(`a handler that does not read its signal costs ${madeUnasked} signals, one that reads it costs 1`, async () => {
    const { receiverOf } = await loadedOn(node);
    const count = countControllers();
    const signals: AbortSignal[] = [];
    const receiver = receiverOf((context) => {
      if (context.id === "asks") signals.push(context.signal, context.signal);
    });
    await receiver.receive(await delivery({ id: "does-not-ask" }));
    expect(count.made).toBe(madeUnasked);
    count.made = 0;
    await receiver.receive(await delivery({ id: "asks" }));
    expect(count.made).toBe(1);
    expect(signals[0]).toBe(signals[1]);
    expect(signals[0]?.aborted).toBe(false);
  });

  it("the context lists signal among its own keys", async () => {
    const { receiverOf } = await loadedOn(node);
    let given: DeliveryContext | undefined;
    const receiver = receiverOf((context) => {
      given = context;
    });
    await receiver.receive(await delivery());
    const names = ["id", "rawBody", "signal", "takeover", "timestamp", "type"];
    expect(Object.keys(given ?? {}).sort()).toEqual(names);
    expect(given?.signal).toBeInstanceOf(AbortSignal);
  });

  it("a handler that first reads the signal after the time-out gets an aborted one", async () => {
    const { started } = await loadedOn(node);
    let given: DeliveryContext | undefined;
    const { answer, end } = await started((context) => (given = context));
    await vi.advanceTimersByTimeAsync(50);
    expect((await answer).outcome).toBe("handler_timeout");
    expect(given?.signal.aborted).toBe(true);
    expect(given?.signal.reason).toMatchObject({ name: "DeadlineError" });
    expect(given?.signal).toBe(given?.signal);
    await end();
  });

  it("a handler that first reads the signal after two reasons to abort finds the first one", async () => {
    const { started } = await loadedOn(node);
    const { memoryStore } = await import("../../src/index.js");
    let given: DeliveryContext | undefined;
    const store = { ...memoryStore(), renew: () => false };
    const { answer, end } = await started((context) => (given = context), {
      leaseMs: 1_000,
      store,
    });
    await vi.advanceTimersByTimeAsync(50);
    expect((await answer).outcome).toBe("handler_timeout");
    // The lease is lost at its first renewal.
    await vi.advanceTimersByTimeAsync(1_000);
    expect(given?.signal.reason).toMatchObject({ name: "DeadlineError" });
    await end();
  });

  it.each<[string, (context: DeliveryContext) => DeliveryContext]>([
    ["is spread", (context) => ({ ...context })],
    ["is inherited from", (context) => Object.create(context) as DeliveryContext],
    ["is proxied", (context) => new Proxy(context, {})],
  ])("a context that %s has the signal that aborts", async (_what, wrap) => {
    const { started } = await loadedOn(node);
    let signal: AbortSignal | undefined;
    const { answer, end } = await started((context) => ({ signal } = wrap(context)));
    await vi.advanceTimersByTimeAsync(49);
    expect(signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await answer;
    expect(signal?.aborted).toBe(true);
    await end();
  });
});
