import { beforeEach, describe, expect, test, vi } from "vitest";
import type { SecretFunction, WebhookResponse } from "../../src/index.js";
import type { SecretList } from "../../src/signature/secrets.js";
import { deferred, type Deferred } from "../support/deferred.js";
import { TEST_SECRET, delivery } from "../support/deliveries.js";
import { pass } from "../support/fake-time.js";
import { throwing } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const HANDLED = { status: 200, outcome: "handled" };
const MISMATCH = { status: 409, outcome: "signature_mismatch" };
const UNAVAILABLE = { status: 503, outcome: "secret_unavailable" };

test.each<[string, SecretFunction]>([
  ["it returns undefined", () => undefined],
  ["it returns null", () => null],
  ["it returns an empty list", () => []],
  ["it returns a promise of undefined", () => Promise.resolve(undefined)],
])(
  "a secret function that does not know the sender is answered 409 signature_mismatch: %s",
  async (_, secret) => {
    const { receive, handled, reports } = recordingReceiver({ secret });
    expect(await receive(await delivery())).toMatchObject(MISMATCH);
    expect(handled).toEqual([]);
    expect(reports[0]).not.toHaveProperty("error");
  },
);

const sealed = new Error("the vault is sealed");
const oneOf =
  (fails: string): SecretFunction =>
  ({ type }) =>
    type === fails ? Promise.reject(sealed) : TEST_SECRET;

test.each(["new_alarm", "delete_my_data_event"])(
  "an undocumented type is tried against the secrets that answer: %s fails",
  async (fails) => {
    const { receive, handled, reports } = recordingReceiver({ secret: oneOf(fails) });
    const forged = await delivery({ type: "made_up", secret: "whsec_of_a_stranger" });
    expect(await receive(forged)).toMatchObject(MISMATCH);
    const genuine = await delivery({ type: "made_up", body: '{"new":{}}' });
    expect(await receive(genuine)).toMatchObject({ outcome: "unrecognized" });
    expect(reports.map(({ secretIndex }) => secretIndex)).toEqual([undefined, 0]);
    expect(handled).toEqual([]);
  },
);

test("an undocumented type is refused when one type is not registered and the other fails", async () => {
  const { receive } = recordingReceiver({
    secret: ({ type }) => (type === "new_alarm" ? Promise.reject(sealed) : undefined),
  });
  expect(await receive(await delivery({ type: "made_up" }))).toMatchObject(MISMATCH);
});

test("an undocumented type is answered 503 when the secrets of both types fail, at once or later", async () => {
  const { receive, reports } = recordingReceiver({
    secret: ({ type }) => {
      if (type === "new_alarm") throw sealed;
      return Promise.reject(sealed);
    },
  });
  expect(await receive(await delivery({ type: "made_up" }))).toMatchObject(UNAVAILABLE);
  expect(reports[0]?.error).toBe(sealed);
});

test.each(["reject", { signature_mismatch: "reject" }] as const)(
  "an undocumented type is answered 503 with unverifiable: %j when one secret fails, as 401 is final",
  async (unverifiable) => {
    const { receive } = recordingReceiver({ secret: oneOf("new_alarm"), unverifiable });
    expect(await receive(await delivery({ type: "made_up" }))).toMatchObject(UNAVAILABLE);
  },
);

/** The outcomes of these deliveries, each named once. */
async function outcomesOf(answers: readonly Promise<WebhookResponse>[]) {
  return [...new Set((await Promise.all(answers)).map(({ outcome }) => outcome))];
}

/** Deliveries with ids of their own. */
function numbered(count: number) {
  return Promise.all(
    Array.from({ length: count }, (_, at) => delivery({ id: `id-${String(at)}` })),
  );
}

/** A receiver whose vault answers when the test lets it. */
function vaultReceiver(dependencyTimeoutMs = 5_000) {
  const calls: (Deferred<SecretList> & { type: string })[] = [];
  const secret: SecretFunction = ({ type }) => {
    const call = { ...deferred<SecretList>(), type };
    calls.push(call);
    return call.promise;
  };
  return { ...recordingReceiver({ secret, dependencyTimeoutMs }), calls };
}

test("500 forgeries of random types make one call for each documented type, and genuine deliveries are handled", async () => {
  const { calls, receive, handled } = vaultReceiver();
  const forgery = await delivery({ secret: "whsec_of_a_stranger" });
  // Signed before the calls begin, which have a time limit.
  const requests = await numbered(40);
  const forged = Array.from({ length: 500 }, (_, at) =>
    receive({
      ...forgery,
      headers: { ...forgery.headers, "x-webhook-type": `type-${String(at)}` },
    }),
  );
  const genuine = requests.map(receive);
  expect(calls.map(({ type }) => type)).toEqual(["new_alarm", "delete_my_data_event"]);
  for (const call of calls) call.resolve(TEST_SECRET);
  expect(await outcomesOf(forged)).toEqual(["signature_mismatch"]);
  expect(await outcomesOf(genuine)).toEqual(["handled"]);
  expect(handled).toHaveLength(40);
  expect(calls).toHaveLength(2);
});

test("a delivery that comes after a call has ended makes a new call", async () => {
  const { calls, receive } = vaultReceiver();
  const first = receive(await delivery({ id: "first" }));
  calls[0]?.resolve(TEST_SECRET);
  expect(await first).toMatchObject(HANDLED);
  const second = receive(await delivery({ id: "second" }));
  calls[1]?.reject(sealed);
  expect(await second).toMatchObject(UNAVAILABLE);
  const third = receive(await delivery({ id: "third" }));
  calls[2]?.resolve(TEST_SECRET);
  expect(await third).toMatchObject(HANDLED);
  expect(calls).toHaveLength(3);
});

test("all deliveries that share a call are answered 503 when it fails, without a second call", async () => {
  const { calls, receive } = vaultReceiver();
  const answers = (await numbered(3)).map(receive);
  calls[0]?.reject(sealed);
  expect(await outcomesOf(answers)).toEqual(["secret_unavailable"]);
  expect(calls).toHaveLength(1);
});

test("a late call is not made again, and its secret serves the deliveries that have time left", async () => {
  const request = await delivery();
  const later = await numbered(2);
  vi.useFakeTimers();
  const { calls, receive } = vaultReceiver(1_000);
  const first = receive(request);
  await pass(600);
  const others = later.map(receive);
  await pass(400);
  expect(await first).toMatchObject(UNAVAILABLE);
  await pass(200);
  expect(calls).toHaveLength(1);
  calls[0]?.resolve(TEST_SECRET);
  expect(await outcomesOf(others)).toEqual(["handled"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a vault that hangs gets one call of each type, and a new one after a minute", async () => {
  const request = await delivery();
  const forged = await delivery({ type: "made_up" });
  vi.useFakeTimers();
  const { calls, receive } = vaultReceiver(1_000);
  const sent = async (): Promise<void> => {
    const answers = [receive(request), receive(forged)];
    await pass(1_000);
    expect(await outcomesOf(answers)).toEqual(["secret_unavailable"]);
  };
  for (let second = 0; second < 60; second++) await sent();
  expect(calls.map(({ type }) => type)).toEqual(["new_alarm", "delete_my_data_event"]);
  await sent();
  await sent();
  await sent();
  expect(calls).toHaveLength(4);
  // The end of a call that was given up is not the end of the newer one.
  calls[0]?.reject(sealed);
  await pass(0);
  await sent();
  expect(calls).toHaveLength(4);
  calls[2]?.resolve(TEST_SECRET);
  await pass(0);
  const next = receive(request);
  calls[4]?.resolve(TEST_SECRET);
  expect(await next).toMatchObject(HANDLED);
});

test("a secret function whose thenable throws leaves no timer behind", async () => {
  const request = await delivery();
  vi.useFakeTimers();
  const thrower = { then: throwing(sealed) };
  const { receive } = recordingReceiver({ secret: () => thrower });
  expect(await receive(request)).toMatchObject(UNAVAILABLE);
  expect(vi.getTimerCount()).toBe(0);
});

test("no delivery joins the call of a request that its runtime has ended with its timers", async () => {
  vi.useFakeTimers();
  const { calls, receive } = vaultReceiver(1_000);
  void receive(await delivery({ id: "ended" }));
  vi.clearAllTimers();
  await pass(2_000);
  const next = receive(await delivery({ id: "next" }));
  calls[1]?.resolve(TEST_SECRET);
  expect(await next).toMatchObject(HANDLED);
  expect(calls).toHaveLength(2);
});

describe("the calls of a secret function on Cloudflare Workers", () => {
  beforeEach(() => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  });

  async function flood(count: number, dependencyTimeoutMs?: number) {
    vi.useFakeTimers();
    const { calls, receive } = vaultReceiver(dependencyTimeoutMs);
    const answers = (await numbered(count)).map(receive);
    await pass(50);
    return { calls, answers };
  }

  test("on Cloudflare Workers no delivery shares a call, and at most 100 calls run at once", async () => {
    const { calls, answers } = await flood(250);
    expect(calls).toHaveLength(100);
    for (const ended of [100, 200, 250]) {
      for (const call of calls) call.resolve(TEST_SECRET);
      await pass(50);
      expect(calls).toHaveLength(Math.min(250, ended + 100));
    }
    expect(await outcomesOf(answers)).toEqual(["handled"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("on Cloudflare Workers a call keeps its place until it ends, and one that waited too long is not made", async () => {
    const { calls, answers } = await flood(101, 1_000);
    await pass(900);
    expect(calls).toHaveLength(100);
    await pass(5_000);
    expect(await outcomesOf(answers)).toEqual(["secret_unavailable"]);
    expect(calls.length).toBeLessThanOrEqual(101);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("on Cloudflare Workers a call that waited for its place has the rest of the time", async () => {
    const { calls, answers } = await flood(101, 1_000);
    await pass(850);
    calls[0]?.resolve(TEST_SECRET);
    await pass(20);
    expect(calls).toHaveLength(101);
    await pass(80);
    expect(await answers[100]).toMatchObject(UNAVAILABLE);
  });

  test("on Cloudflare Workers the function gets the type, too", async () => {
    const secret = vi.fn(() => TEST_SECRET);
    const { receive } = recordingReceiver({ secret });
    expect(await receive(await delivery())).toMatchObject(HANDLED);
    expect(secret.mock.calls).toEqual([[{ type: "new_alarm" }]]);
  });

  test("on Cloudflare Workers a function that throws is answered 503 and keeps no place", async () => {
    const { receive } = recordingReceiver({ secret: throwing(sealed) });
    for (let at = 0; at < 150; at++) {
      expect(await receive(await delivery({ id: String(at) }))).toMatchObject(UNAVAILABLE);
    }
  });
});
