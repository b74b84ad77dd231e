import { beforeEach, describe, expect, test, vi } from "vitest";
import { createWebhookReceiver, type DeliveryStore } from "../../src/index.js";
import { alarmBody, delivery, NOW_MS } from "../support/deliveries.js";
import { optionsWith } from "./refusal.js";
import { deferred, never, watched } from "../support/deferred.js";
import { pass } from "../support/fake-time.js";

beforeEach(() => vi.useFakeTimers({ now: NOW_MS }));
test.each([
  [-300_000, "handled"],
  [300_000, "handled"],
  [-300_001, "stale"],
  [300_001, "stale"],
])("timestampToleranceMs is 5 minutes: a clock %i ms off makes it %s", async (offMs, outcome) => {
  vi.setSystemTime(NOW_MS + offMs);
  const receiver = createWebhookReceiver(optionsWith());
  expect((await receiver.receive(await delivery())).outcome).toBe(outcome);
});

test("leaseMs defaults to 30 seconds and retentionMs to 7 days in the store's calls", async () => {
  const claim = vi.fn<DeliveryStore["claim"]>(() => ({ state: "claimed", takeover: false }));
  const complete = vi.fn<DeliveryStore["complete"]>();
  const store: DeliveryStore = { claim, complete, renew: () => true, release: () => undefined };
  const receiver = createWebhookReceiver(optionsWith({ store }));
  const request = await delivery();
  await receiver.receive(request);
  const id = request.headers["x-webhook-id"];
  const owner = claim.mock.calls[0]?.[1];
  expect(claim.mock.calls).toEqual([[id, owner, { leaseMs: 30_000, retentionMs: 604_800_000 }]]);
  expect(complete.mock.calls).toEqual([[id, owner, { retentionMs: 604_800_000 }]]);
});

test("handlerTimeoutMs defaults to 20 seconds", async () => {
  const begun = deferred();
  const new_alarm = () => {
    begun.resolve();
    return never();
  };
  const receiver = createWebhookReceiver(optionsWith({ handlers: { new_alarm } }));
  const answer = receiver.receive(await delivery());
  const { state } = watched(answer);
  await begun.promise;
  await pass(19_999);
  expect(state.isResolved).toBe(false);
  await pass(1);
  expect((await answer).outcome).toBe("handler_timeout");
});

test("dependencyTimeoutMs defaults to 5 seconds", async () => {
  const receiver = createWebhookReceiver(optionsWith({ secret: never }));
  const answer = receiver.receive(await delivery());
  const { state } = watched(answer);
  await pass(4_999);
  expect(state.isResolved).toBe(false);
  await pass(1);
  expect((await answer).outcome).toBe("secret_unavailable");
});

describe("maxBodyBytes", () => {
  const empty = alarmBody({ text: "" }).length;
  const bodyOf = (bytes: number) => alarmBody({ text: "a".repeat(bytes - empty) });

  test.each([
    [1_048_576, "handled"],
    [1_048_577, "body_too_large"],
  ])("maxBodyBytes defaults to 1 MiB: %i bytes are %s", async (bytes, outcome) => {
    const receiver = createWebhookReceiver(optionsWith());
    const body = bodyOf(bytes);
    for (const form of [body, Buffer.from(body)]) {
      const request = await delivery({ id: typeof form, body: form });
      expect((await receiver.receive(request)).outcome).toBe(outcome);
    }
  });
});

test("the store defaults to a memory store of each receiver's own", async () => {
  const first = createWebhookReceiver(optionsWith());
  const second = createWebhookReceiver(optionsWith({ store: undefined }));
  const request = await delivery();
  expect((await first.receive(request)).outcome).toBe("handled");
  expect((await first.receive(request)).outcome).toBe("duplicate");
  expect((await second.receive(request)).outcome).toBe("handled");
});

test("now defaults to Date.now, read at each delivery", async () => {
  const receiver = createWebhookReceiver(optionsWith({ now: undefined }));
  expect((await receiver.receive(await delivery({ id: "a" }))).outcome).toBe("handled");
  vi.setSystemTime(NOW_MS + 3_600_000);
  expect((await receiver.receive(await delivery({ id: "b" }))).outcome).toBe("stale");
});
