import { createHook } from "node:async_hooks";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  DiscardDelivery,
  createWebhookReceiver,
  memoryStore,
  type TransactionalStore,
} from "../../src/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { deferred } from "../support/deferred.js";
import { NOW_MS, TEST_SECRET, delivery, eventDelivery } from "../support/deliveries.js";
import { throwing } from "../support/faults.js";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

// What other code of the process may do to the receiver, by accident or on purpose.

afterEach(() => {
  for (const name of POLLUTED) Reflect.deleteProperty(Object.prototype, name);
});

const POLLUTED = [
  "authentic",
  "outcome",
  "order",
  "state",
  "secretIndex",
  "retryAfterMs",
  "record",
];

function pollute(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    expect(POLLUTED).toContain(name);
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
  }
}

function forged() {
  const { headers, ...rest } = rawDelivery();
  return { ...rest, headers: { ...headers, "x-webhook-signature": `v1=${"0".repeat(64)}` } };
}

const SECRETS = [
  ["a secret", TEST_SECRET],
  ["a secret function", () => TEST_SECRET],
  ["an asynchronous one", async () => Promise.resolve(TEST_SECRET)],
] as const;

describe.each(SECRETS)("with a polluted prototype and %s", (_what, secret) => {
  const everything = {
    authentic: true,
    outcome: "handled",
    order: [],
    state: "completed",
    secretIndex: 0,
  };

  test("a forgery is refused under a polluted Object.prototype", async () => {
    pollute(everything);
    const { receive, handled } = recordingReceiver({ secret });
    expect((await receive(forged())).outcome).toBe("signature_mismatch");
    const unreadable = {
      ...forged(),
      headers: { ...forged().headers, "x-webhook-signature": "v1=g" },
    };
    expect((await receive(unreadable)).outcome).toBe("malformed");
    expect(handled).toEqual([]);
  });

  test("a delivery is handled once under a polluted Object.prototype, and its redelivery is a duplicate", async () => {
    pollute(everything);
    const { receive, handled } = recordingReceiver({ secret });
    expect((await receive(rawDelivery())).outcome).toBe("handled");
    expect((await receive(rawDelivery())).outcome).toBe("duplicate");
    expect(handled).toHaveLength(1);
  });

  test("a handler that rejects is no success under a polluted Object.prototype", async () => {
    pollute(everything);
    const { receive } = recordingReceiver({
      secret,
      handlers: { new_alarm: async () => Promise.reject(new Error("down")) },
    });
    for (let n = 0; n < 2; n++) {
      expect((await receive(rawDelivery())).outcome).toBe("handler_failed");
    }
  });
});

test("a store may answer with a Proxy", async () => {
  const bare = (state: string) =>
    new Proxy({}, { get: (_, name) => (name === "state" ? state : undefined) });
  for (const [state, outcome] of [
    ["in_flight", "in_flight"],
    ["completed", "duplicate"],
  ] as const) {
    const store = { ...memoryStore(), claim: () => bare(state) as never };
    const receiver = alarmReceiver(() => undefined, { store });
    expect((await receiver.receive(await delivery())).outcome).toBe(outcome);
  }
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
  let runs = 0;
  const receiver = alarmReceiver(() => {
    runs += 1;
    const promise = Promise.resolve();
    return Object.assign(promise, { then: thenOf(promise) });
  });
  const request = await delivery();
  expect((await receiver.receive(request)).outcome).toBe("handled");
  expect((await receiver.receive(request)).outcome).toBe("duplicate");
  expect(runs).toBe(1);
});

test.each([
  [
    "throws",
    (value: unknown) => {
      throw value;
    },
  ],
  ["rejects with", async (value: unknown) => Promise.reject(value as Error)],
])(
  "a handler that %s a revoked Proxy is handler_failed and releases its claim",
  async (_how, fail) => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { promise, resolve } = deferred<unknown>();
    const receiver = alarmReceiver(async () => fail(proxy), { onOutcome: resolve });
    const request = await delivery();
    expect((await receiver.receive(request)).outcome).toBe("handler_failed");
    expect(await promise).toMatchObject({
      error: { name: "TypeError" },
    });
    expect((await receiver.receive(request)).outcome).toBe("handler_failed");
    await receiver.drain();
  },
);

test("handlers.unrecognized gets a fresh body in each run of a repeated transaction", async () => {
  const twice: TransactionalStore<undefined> = {
    async process(_key, work) {
      await work(undefined).catch(() => undefined);
      await work(undefined);
      return { state: "processed" };
    },
  };
  const seen: unknown[] = [];
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    logger: false,
    now: () => NOW_MS,
    store: twice,
    handlers: {
      delete_my_data_event: { DATA_REAPPEARED: () => undefined },
      unrecognized: (given) => {
        const { event } = given.body as { event: { type?: string } };
        seen.push(event.type);
        delete event.type;
        if (seen.length === 1) throw new Error("serialization failure");
        if (seen[1] === undefined) throw new DiscardDelivery({ reason: "no type" });
      },
    },
  });
  const repeated = await eventDelivery("SOMETHING_NEW");
  expect((await receiver.receive(repeated)).outcome).toBe("handled");
  expect(seen).toEqual(["SOMETHING_NEW", "SOMETHING_NEW"]);
});
