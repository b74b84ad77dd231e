import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore, type WebhookResponse } from "../../src/index.js";
import { alarmReceiver, heldRun } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import { spiedStore } from "../support/spied-store.js";

const outcomeOf = async (response: WebhookResponse | Promise<WebhookResponse>) =>
  (await response).outcome;

beforeEach(() => vi.useFakeTimers());

it("the lease is renewed three times within its length, and no longer after the handler has ended", async () => {
  const spy = spiedStore();
  const times = { handlerTimeoutMs: 3_600_000 };
  const { receiver, repeated, run } = await heldRun({ store: spy.store, ...times });
  await vi.advanceTimersByTimeAsync(9_999);
  expect(spy.count("renew")).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(spy.count("renew")).toBe(1);
  await vi.advanceTimersByTimeAsync(590_000);
  expect(spy.count("renew")).toBe(60);
  expect(await outcomeOf(receiver.receive(repeated))).toBe("in_flight");
  expect(await outcomeOf(run.succeed())).toBe("handled");
  await vi.advanceTimersByTimeAsync(600_000);
  expect(spy.count("renew")).toBe(60);
  const owners = new Set(spy.calls.filter(({ method }) => method !== "claim").map((c) => c.owner));
  expect([...owners]).toEqual([spy.calls[0]?.owner]);
});

it("the lease is renewed if timers are numbers, as outside Node", async () => {
  const start = setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, ms: number) => Number(start(run, ms)));
  const spy = spiedStore();
  const { run } = await heldRun({ store: spy.store });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(spy.count("renew")).toBe(1);
  expect(await outcomeOf(run.succeed())).toBe("handled");
  expect(vi.getTimerCount()).toBe(0);
});

/** The store's clock jumps, as if the process was frozen or the database failed over. */
async function lostLease() {
  let skewMs = 0;
  const store = memoryStore({ now: () => performance.now() + skewMs });
  const { reports, options } = createCollector();
  const held = await heldRun({ store, ...options });
  const { handler, repeated } = held;
  skewMs = 30_000;
  // Another process: the first one answers redeliveries in flight while its handler runs.
  const winner = await held.start(repeated, alarmReceiver(handler, { store, ...options }));
  return { ...held, reports, loser: held.run, winner };
}

it("a lost lease is taken over, and context and report say so", async () => {
  const { reports, loser, winner } = await lostLease();
  expect(loser.context.takeover).toBe(false);
  expect(winner.context.takeover).toBe(true);
  expect(await winner.succeed()).toMatchObject({ status: 200, outcome: "handled" });
  expect(reports).toHaveLength(1);
  expect(reports[0]).toMatchObject({ outcome: "handled", takeover: true });
});

it("a lost lease aborts the loser's signal at its next renewal, and not the winner's", async () => {
  const { loser, winner } = await lostLease();
  expect(loser.context.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(loser.context.signal.aborted).toBe(true);
  expect(loser.context.signal.reason).toMatchObject({
    name: "GatewayWebhookError",
    code: "lease_lost",
    message: expect.stringContaining("another process may be handling it") as string,
  });
  expect(winner.context.signal.aborted).toBe(false);
});

it("a late success counts even if the lease was lost", async () => {
  const { receiver, repeated, reports, loser, winner } = await lostLease();
  expect(await outcomeOf(loser.succeed())).toBe("handled");
  expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
  expect(await outcomeOf(winner.fail(new Error("the second run found it done")))).toBe(
    "handler_failed",
  );
  expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
  expect(reports.find(({ outcome }) => outcome === "handled")).not.toHaveProperty("takeover");
});

it("a loser that fails does not release the winner's lease", async () => {
  const { receiver, repeated, loser, winner } = await lostLease();
  expect(await outcomeOf(loser.fail(new Error("noticed the lost lease")))).toBe("handler_failed");
  expect(await outcomeOf(receiver.receive(repeated))).toBe("in_flight");
  expect(await outcomeOf(winner.succeed())).toBe("handled");
  expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
});
