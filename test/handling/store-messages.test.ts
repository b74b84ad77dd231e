import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { alarmReceiver, heldHandler } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import { never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { firstCall } from "../support/spied-store.js";

const ID = "delivery-1";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it("the report names a claim that hangs, with its time limit", async () => {
  const { reports, options } = createCollector();
  const store = { ...memoryStore(), claim: () => never<ClaimResult>() };
  const claimed = firstCall(store, "claim");
  const answer = alarmReceiver(() => undefined, { store, ...options }).receive(await delivery());
  await claimed;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await answer).toMatchObject({ outcome: "store_unavailable" });
  expect(reports[0]?.error).toMatchObject({
    name: "DeadlineError",
    message: "store.claim took longer than 5000 ms",
  });
});

it("the report names a claim without a result", async () => {
  const { reports, options } = createCollector();
  const claim = () => undefined as unknown as ClaimResult;
  const receiver = alarmReceiver(() => undefined, {
    store: { ...memoryStore(), claim },
    ...options,
  });
  await receiver.receive(await delivery());
  expect(reports[0]?.error).toMatchObject({ message: "store.claim returned no claim result" });
});

it.each<[Exclude<keyof DeliveryStore, "connectReceiver">, string]>([
  ["complete", "completion failed: the delivery is handled, and the completion is retried"],
  ["release", "release failed: the next attempt waits until the lease ends"],
  ["renew", "renewal of the lease failed: retried until the lease ends"],
])("the log names a %s that hangs, with the delivery and its time limit", async (method, text) => {
  const { lines, options } = createCollector();
  const store: DeliveryStore = { ...memoryStore(), [method]: () => never() };
  const called = firstCall(store, method);
  const { handler, start } = heldHandler();
  const run = await start(
    alarmReceiver(handler, { store, handlerTimeoutMs: 60_000, ...options }),
    await delivery({ id: ID }),
  );
  if (method === "renew") await vi.advanceTimersByTimeAsync(10_000);
  else if (method === "complete") run.resolve();
  else run.reject(new Error("failed"));
  await called;
  await vi.advanceTimersByTimeAsync(5_000);
  const line = lines.find(({ message }) => message.includes(text));
  expect(line).toMatchObject({
    level: "error",
    message: `identity-gateway-webhooks: ${text}`,
    details: { id: ID, err: { message: `store.${method} took longer than 5000 ms` } },
  });
  run.resolve();
  await vi.advanceTimersByTimeAsync(10_000);
  await run.answer;
});
