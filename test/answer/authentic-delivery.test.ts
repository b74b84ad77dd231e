import { expect, test } from "vitest";
import {
  RetryLater,
  type AuthenticDelivery,
  type WebhookOutcome,
  type WebhookReceiverOptions,
  type WebhookRequest,
} from "../../src/index.js";
import { never } from "../support/deferred.js";
import { NOW_MS, NOW_SECONDS, delivery, eventDelivery } from "../support/deliveries.js";
import { rejects, throwing, throws } from "../support/faults.js";
import { recordingReceiver } from "../support/recording-receiver.js";
import { spiedStore } from "../support/spied-store.js";

/** A receiver and the deliveries that onAuthenticDelivery receives. */
function observedReceiver(options: Partial<WebhookReceiverOptions> = {}) {
  const seen: AuthenticDelivery[] = [];
  const { receiver } = recordingReceiver({
    handlers: { new_alarm: () => undefined },
    onAuthenticDelivery: (observed) => seen.push(observed),
    ...options,
  });
  return { receiver, seen };
}

const answersOf = (seen: readonly AuthenticDelivery[]) =>
  seen.map(({ outcome, status }) => `${String(status)} ${outcome}`);

const { store: failing } = spiedStore({ claim: throws });
const UNSIGNED = { secret: undefined, acceptUnsignedDeliveries: true } as const;
const REJECTING = { unverifiable: "reject", now: () => NOW_MS + 301_000 } as const;

test("onAuthenticDelivery receives the request itself and its outcome", async () => {
  const { receiver, seen } = observedReceiver();
  const request = await delivery();
  await receiver.receive(request);
  expect(seen).toEqual([
    {
      request,
      id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
      type: "new_alarm",
      receivedAt: new Date(NOW_MS),
      outcome: "handled",
      status: 200,
    },
  ]);
  expect(seen[0]?.request).toBe(request);
});

test("onAuthenticDelivery is called once for each request with a valid signature, whatever its outcome", async () => {
  let handler: () => unknown = throwing(new Error("no"));
  const { receiver, seen } = observedReceiver({ handlers: { new_alarm: () => handler() } });
  const send = async (overrides?: Parameters<typeof delivery>[0]) =>
    receiver.receive(await delivery(overrides));
  await send();
  handler = throwing(new RetryLater());
  await send();
  handler = () => undefined;
  await send();
  await send();
  await send({ timestamp: NOW_SECONDS - 301 });
  await send({ type: "delete_my_data_event" });
  await send({ body: "no JSON" });
  await send({ type: "of_another_kind", body: "{}" });
  await receiver.receive(await eventDelivery("DATA_DELETED"));
  expect(answersOf(seen)).toEqual([
    "500 handler_failed",
    "503 retry_later",
    "200 handled",
    "200 duplicate",
    "409 stale",
    "409 type_mismatch",
    "503 unrecognized",
    "503 unrecognized",
    "200 unhandled",
  ]);
  expect(seen[5]?.type).toBe("delete_my_data_event");
  expect(seen[7]?.type).toBe("of_another_kind");
});

test.each<[string, Partial<WebhookReceiverOptions>, string[]]>([
  ["is called if the store fails", { store: failing }, ["503 store_unavailable"]],
  ["is called for every delivery with acceptUnsignedDeliveries", UNSIGNED, ["200 handled"]],
  ["receives the status of unverifiable: reject", REJECTING, ["401 stale"]],
  ["is never called if the secret is not available", { secret: rejects }, []],
])("onAuthenticDelivery %s", async (_, options, expected) => {
  const { receiver, seen } = observedReceiver(options);
  await receiver.receive(await delivery());
  expect(answersOf(seen)).toEqual(expected);
});

test("onAuthenticDelivery is never called for a request that is not authentic", async () => {
  const { receiver, seen } = observedReceiver();
  const { headers, body } = await delivery();
  const changed = (change: Record<string, string | string[] | undefined>) => ({
    headers: { ...headers, ...change },
    body,
  });
  const refused: [WebhookOutcome, WebhookRequest][] = [
    ["signature_mismatch", await delivery({ secret: "whsec_another" })],
    ["signature_mismatch", { headers, body: `${String(body)} ` }],
    ["unsigned", changed({ "x-webhook-signature": undefined })],
    ["signature_mismatch", changed({ "x-webhook-id": "another" })],
    ["malformed", changed({ "x-webhook-id": ["a", "b"] })],
    ["method_not_allowed", { ...changed({}), method: "PUT" }],
    ["malformed", { ...changed({}), method: "GET" }],
    ["reachable", { headers: {}, body: "", method: "GET" }],
    ["body_too_large", { headers, body: "x".repeat(1_048_577) }],
  ];
  for (const [outcome, request] of refused) {
    expect((await receiver.receive(request)).outcome).toBe(outcome);
  }
  await receiver.drain();
  expect((await receiver.receive(await delivery())).outcome).toBe("draining");
  expect(seen).toEqual([]);
});

test("onAuthenticDelivery receives the time of the answer as receivedAt", async () => {
  let nowMs = NOW_MS;
  const { receiver, seen } = observedReceiver({
    now: () => nowMs,
    handlers: {
      new_alarm: () => {
        nowMs += 7_000;
      },
    },
  });
  await receiver.receive(await delivery());
  expect(seen[0]?.receivedAt).toEqual(new Date(NOW_MS + 7_000));
});

test.each([
  ["throws", throws],
  ["rejects", () => Promise.reject(new Error("observer"))],
  ["never settles", () => never()],
])("an onAuthenticDelivery that %s changes no answer", async (_, onAuthenticDelivery) => {
  const { receiver } = observedReceiver({ onAuthenticDelivery });
  expect((await receiver.receive(await delivery())).outcome).toBe("handled");
  expect((await receiver.receive(await delivery())).outcome).toBe("duplicate");
  await receiver.drain();
});
