import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type DeliveryContext, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";

beforeEach(() => vi.useFakeTimers());
/** Ways in which a handler may change its context. */
const TAMPERING: readonly (readonly [string, (context: DeliveryContext) => void])[] = [
  [
    "empties it",
    (context) => {
      for (const key of Reflect.ownKeys(context)) Reflect.deleteProperty(context, key);
    },
  ],
  [
    "freezes it and all in it",
    (context) => {
      for (const key of Reflect.ownKeys(context)) {
        const value: unknown = Reflect.get(context, key);
        if (!ArrayBuffer.isView(value)) Object.freeze(value);
      }
      Object.freeze(context);
    },
  ],
  [
    "writes over it",
    (context) => {
      for (const key of Reflect.ownKeys(context)) {
        Object.defineProperty(context, key, { value: "tampered" });
      }
    },
  ],
];

it.each(TAMPERING)(
  "a late handler that %s is answered and settled like any other handler",
  async (_, tamper) => {
    const completed: string[] = [];
    const store: DeliveryStore = { ...memoryStore(), complete: (key) => void completed.push(key) };
    const started = deferred();
    const { promise, resolve } = deferred();
    const receiver = alarmReceiver(
      (context) => {
        tamper(context);
        started.resolve();
        return promise;
      },
      { handlerTimeoutMs: 50, store },
    );
    const request = await delivery();
    const first = receiver.receive(request);
    await started.promise;
    await vi.advanceTimersByTimeAsync(60);
    expect((await first).outcome).toBe("handler_timeout");
    expect((await receiver.receive(request)).outcome).toBe("in_flight");
    resolve();
    await receiver.drain();
    expect(completed).toEqual([request.headers["x-webhook-id"]]);
  },
);
