import { createHook } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { memoryStore } from "../../src/index.js";
import { alarmReceiver, observedAlarmReceiver, send } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { TEST_SECRET, delivery } from "../support/deliveries.js";
import { rejects, throwing } from "../support/faults.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

// What other code of the process may do to the receiver, by accident or on purpose.

afterEach(() => {
  for (const name of POLLUTED) Reflect.deleteProperty(Object.prototype, name);
});

const POLLUTED = ["authentic", "outcome", "order", "state", "secretIndex"];

function pollute(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    expect(POLLUTED).toContain(name);
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
  }
}

function forged(signature = `v1=${"0".repeat(64)}`) {
  const { headers, ...rest } = rawDelivery();
  return { ...rest, headers: { ...headers, "x-webhook-signature": signature } };
}

describe.each([
  ["a secret", TEST_SECRET],
  ["a secret function", () => TEST_SECRET],
  ["an asynchronous one", async () => Promise.resolve(TEST_SECRET)],
])("with a polluted prototype and %s", (_what, secret) => {
  beforeEach(() => {
    pollute({ authentic: true, outcome: "handled", order: [], state: "completed", secretIndex: 0 });
  });

  test("a forgery is refused under a polluted Object.prototype", async () => {
    const { receiver, handled } = recordingReceiver({ secret });
    expect(await send(receiver, forged())).toBe("409 signature_mismatch");
    expect(await send(receiver, forged("v1=g"))).toBe("409 malformed");
    expect(handled).toEqual([]);
  });

  test("a delivery is handled once under a polluted Object.prototype, and its redelivery is a duplicate", async () => {
    const { receiver, handled } = recordingReceiver({ secret });
    expect(await send(receiver, rawDelivery())).toBe("200 handled");
    expect(await send(receiver, rawDelivery())).toBe("200 duplicate");
    expect(handled).toHaveLength(1);
  });

  test("a handler that rejects is no success under a polluted Object.prototype", async () => {
    const { receiver } = recordingReceiver({ secret, handlers: { new_alarm: rejects } });
    for (let n = 0; n < 2; n++) {
      expect(await send(receiver, rawDelivery())).toBe("500 handler_failed");
    }
  });
});

test.each([
  ["in_flight", "409 in_flight"],
  ["completed", "200 duplicate"],
])("a store may answer %s with a Proxy", async (state, answer) => {
  const bare = new Proxy({}, { get: (_, name) => (name === "state" ? state : undefined) });
  const store = { ...memoryStore(), claim: () => bare as never };
  expect(await observedAlarmReceiver(undefined, { store }).send()).toBe(answer);
});

test("pooled buffers of the process share no memory with the expected signature", async () => {
  const { receive } = recordingReceiver();
  const request = forged();
  await receive(request);
  const right = rawDelivery().headers["x-webhook-signature"];
  const pools = new Set([Buffer.from("a").buffer, Buffer.allocUnsafe(1).buffer]);
  for (const pool of pools) {
    expect(Buffer.from(pool).toString("latin1")).not.toContain(right.slice(3, 20));
    // A common mistake of code that wipes its own secret.
    new Uint8Array(pool).fill(0);
  }
  expect((await receive(rawDelivery())).outcome).toBe("handled");
});

test("a caller that changes the promise of its answer does not affect other answers", async () => {
  const receiver = alarmReceiver(() => undefined);
  const first = receiver.receive(await delivery({ id: "a" }));
  Reflect.set(first, "then", undefined);
  expect((await first).outcome).toBe("handled");
  expect((await receiver.receive(await delivery({ id: "b" }))).outcome).toBe("handled");
});

test("async hooks that mark every promise find promises that can be marked", async () => {
  const seen: string[] = [];
  const hook = createHook({
    init: (_id, type) => {
      seen.push(type);
    },
  }).enable();
  try {
    const { receive } = recordingReceiver();
    expect((await receive(rawDelivery())).outcome).toBe("handled");
    expect((await receive(rawDelivery())).outcome).toBe("duplicate");
  } finally {
    hook.disable();
  }
  expect(seen).toContain("PROMISE");
});

test("a failing clock during a report rejects receive, and drain still resolves", async () => {
  const receiver = alarmReceiver(() => undefined, { onOutcome: () => undefined });
  const request = await delivery();
  const clock = vi.spyOn(performance, "now");
  clock.mockImplementationOnce(() => 0).mockImplementation(throwing(new Error("no clock")));
  await expect(receiver.receive(request)).rejects.toThrow("no clock");
  clock.mockRestore();
  await receiver.drain();
});

test.each<[string, (promise: Promise<void>) => PromiseLike<void>["then"]]>([
  ["calls back and returns a number", () => (done) => (void done?.(), 5 as never)],
  ["calls back and returns nothing", () => (done) => void done?.() as never],
  [
    "calls back and returns what has an outcome",
    () => (done) => (
      void done?.(),
      {
        then: (go: (value: unknown) => void) => go({ outcome: "handled" }),
      } as never
    ),
  ],
  ["is that of the promise", (promise) => promise.then.bind(promise)],
])("a handler's promise is handled once if its own then %s", async (_what, thenOf) => {
  const { send, runs } = observedAlarmReceiver(() => {
    const promise = Promise.resolve();
    return Object.assign(promise, { then: thenOf(promise) });
  });
  expect(await send()).toBe("200 handled");
  expect(await send()).toBe("200 duplicate");
  expect(runs).toHaveLength(1);
});

test.each([
  ["throws", (value: unknown) => throwing(value)()],
  ["rejects with", async (value: unknown) => Promise.reject(value as Error)],
])(
  "a handler that %s a revoked Proxy is handler_failed and releases its claim",
  async (_how, fail) => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { promise, resolve } = deferred<unknown>();
    const receiver = alarmReceiver(() => fail(proxy), { onOutcome: resolve });
    expect(await send(receiver)).toBe("500 handler_failed");
    expect(await promise).toMatchObject({ error: { name: "TypeError" } });
    expect(await send(receiver)).toBe("500 handler_failed");
    await receiver.drain();
  },
);
