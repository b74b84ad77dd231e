import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { afterEach, expect, it } from "vitest";
import { createWebhookReceiver } from "../../src/index.js";
import { alarmReceiver } from "../support/alarm-receiver.js";
import { CANARIES, canariesIn, canaryAlarm, canaryEvent, shownOf } from "../support/canaries.js";
import { delivery, eventDelivery, NOW_MS } from "../support/deliveries.js";

const CHANNEL = "identity-gateway-webhooks:delivery";

let unsubscribe = (): void => undefined;
afterEach(() => {
  unsubscribe();
});

function listen() {
  const events: [string, Record<string, unknown>][] = [];
  const take = (name: string) => (message: object) => {
    events.push([name, { ...message }]);
  };
  const subscribers = {
    ...{ start: take("start"), end: take("end"), error: take("error") },
    ...{ asyncStart: take("asyncStart"), asyncEnd: take("asyncEnd") },
  };
  const channel = tracingChannel(CHANNEL);
  channel.subscribe(subscribers);
  unsubscribe = () => channel.unsubscribe(subscribers);
  return events;
}

it("a handled delivery is published around its handler and with its report", async () => {
  const events = listen();
  await alarmReceiver(() => undefined).receive(await delivery());
  expect(events.map(([name]) => name)).toEqual(["start", "end", "asyncStart", "asyncEnd"]);
  expect(events[0]?.[1]).not.toHaveProperty("outcome");
  expect(events[3]?.[1]).toMatchObject({
    ...{ kind: "delivery", type: "new_alarm", outcome: "handled", status: 200 },
    id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  });
});

it("a refused request is published too, and a handler's error on its own channel", async () => {
  const events = listen();
  const error = new Error("made up");
  const receiver = alarmReceiver(() => Promise.reject(error));
  await receiver.receive(await delivery({ secret: "another secret of 20" }));
  await receiver.receive(await delivery());
  expect(events.map(([name, { outcome }]) => [name, outcome])).toEqual([
    ["start", "signature_mismatch"],
    ["end", "signature_mismatch"],
    ["asyncStart", "signature_mismatch"],
    ["asyncEnd", "signature_mismatch"],
    ["start", undefined],
    ["end", undefined],
    ["error", "handler_failed"],
    ["asyncStart", "handler_failed"],
    ["asyncEnd", "handler_failed"],
  ]);
  expect(events[6]?.[1]["error"]).toBe(error);
});

it("messages hold nothing of the body, and no header but id, type and timestamp", async () => {
  const events = listen();
  await alarmReceiver(() => undefined).receive(await delivery());
  const names = new Set(events.flatMap(([, message]) => Object.keys(message)));
  expect([...names].toSorted()).toEqual(
    [
      ...["kind", "id", "type", "takeover", "timestampMs", "bytes"],
      ...["outcome", "status", "durationMs", "secretIndex"],
    ].toSorted(),
  );
});

it("messages give away no personal value, whatever the gateway or a forger sends", async () => {
  const events = listen();
  const handlers = { new_alarm: () => undefined, delete_my_data_event: () => undefined };
  const receiver = createWebhookReceiver({
    ...{ secret: CANARIES.secret, handlers, logger: false, now: () => NOW_MS },
  });
  const { secret, authorization, cookie, unsignedId, unsignedType } = CANARIES;
  const bodies = [
    JSON.stringify({ alarm: canaryAlarm() }),
    JSON.stringify({ alarm: { text: cookie } }),
  ];
  for (const [at, body] of bodies.entries()) {
    const request = await delivery({ id: String(at), secret, body });
    await receiver.receive({
      ...request,
      headers: { ...request.headers, authorization, cookie },
    });
  }
  const event = canaryEvent(CANARIES.email);
  await receiver.receive(await eventDelivery("DATA_DELETED", { id: "event", secret, event }));
  await receiver.receive(
    await delivery({ id: unsignedId, type: unsignedType, body: bodies[0] ?? "", secret: cookie }),
  );
  const outcomes = events.flatMap(([name, { outcome }]) => (name === "asyncEnd" ? [outcome] : []));
  expect(outcomes).toEqual(["handled", "unrecognized", "handled", "signature_mismatch"]);
  expect(canariesIn(shownOf(...events))).toEqual([]);
});

it("a store that is bound to `start` reaches the handler", async () => {
  const spans = new AsyncLocalStorage<unknown>();
  const { start } = tracingChannel(CHANNEL);
  start.bindStore(spans, (message) => (message as { id: string }).id);
  const events = listen();
  let seen: unknown;
  await alarmReceiver(async () => {
    await Promise.resolve();
    seen = spans.getStore();
  }).receive(await delivery());
  start.unbindStore(spans);
  expect(seen).toBe("3f2504e0-4f89-41d3-9a0c-0305e82c3301");
  expect(events).not.toHaveLength(0);
});
