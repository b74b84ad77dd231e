import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type ClaimResult, type DeliveryStore } from "../../src/index.js";
import { heldRun, observedAlarmReceiver } from "../support/alarm-receiver.js";
import { never } from "../support/deferred.js";
import { delivery } from "../support/deliveries.js";
import { firstCall, receiveUntil } from "../support/spied-store.js";

const ID = "delivery-1";

beforeEach(() => vi.useFakeTimers());

it("the report names a claim that hangs, with its time limit", async () => {
  const store = { ...memoryStore(), claim: () => never<ClaimResult>() };
  const { receiver, reports } = observedAlarmReceiver(() => undefined, { store });
  const { answer } = await receiveUntil(store, "claim", receiver);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await answer).toMatchObject({ outcome: "store_unavailable" });
  expect(reports[0]?.error).toMatchObject({
    name: "DeadlineError",
    message: "store.claim took longer than 5000 ms",
  });
});

it("the report names a claim without a result", async () => {
  const store = { ...memoryStore(), claim: () => undefined as unknown as ClaimResult };
  const { receiver, reports } = observedAlarmReceiver(() => undefined, { store });
  await receiver.receive(await delivery());
  expect(reports[0]?.error).toMatchObject({ message: "store.claim returned no claim result" });
});

it.each<["complete" | "release" | "renew", string]>([
  ["complete", "completion failed: the delivery is handled, and the completion is retried"],
  [
    "release",
    "release failed: it is retried; the next attempt waits for it or for the end of the lease",
  ],
  ["renew", "renewal of the lease failed: retried until the lease ends"],
])("the log names a %s that hangs, with the delivery and its time limit", async (method, text) => {
  const store: DeliveryStore = { ...memoryStore(), [method]: () => never() };
  const called = firstCall(store, method);
  const { run, lines } = await heldRun(
    { store, handlerTimeoutMs: 60_000 },
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
