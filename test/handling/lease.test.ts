import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore, type WebhookResponse } from "../../src/index.js";
import { alarmReceiver, heldHandler } from "../support/alarm-receiver.js";
import { createCollector } from "../support/collector.js";
import { delivery } from "../support/deliveries.js";
import { spiedStore } from "../support/spied-store.js";

const outcomeOf = async (response: WebhookResponse | Promise<WebhookResponse>) =>
  (await response).outcome;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("the lease of a running handler", () => {
  it("the lease is renewed three times within its length, and no longer after the handler has ended", async () => {
    const { handler, start } = heldHandler();
    const spy = spiedStore();
    const receiver = alarmReceiver(handler, { store: spy.store, handlerTimeoutMs: 3_600_000 });
    const repeated = await delivery();
    const held = await start(receiver, repeated);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(spy.count("renew")).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(spy.count("renew")).toBe(1);
    await vi.advanceTimersByTimeAsync(590_000);
    expect(spy.count("renew")).toBe(60);
    expect(await outcomeOf(receiver.receive(repeated))).toBe("in_flight");
    held.resolve();
    expect(await outcomeOf(held.answer)).toBe("handled");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(spy.count("renew")).toBe(60);
    const owners = new Set(
      spy.calls.filter(({ method }) => method !== "claim").map((c) => c.owner),
    );
    expect([...owners]).toEqual([spy.calls[0]?.owner]);
  });

  it("the lease is renewed if timers are numbers, as outside Node", async () => {
    const start = setTimeout;
    vi.stubGlobal("setTimeout", (run: () => void, ms: number) => Number(start(run, ms)));
    const held = heldHandler();
    const spy = spiedStore();
    const receiver = alarmReceiver(held.handler, { store: spy.store });
    const run = await held.start(receiver, await delivery());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(spy.count("renew")).toBe(1);
    run.resolve();
    expect(await outcomeOf(run.answer)).toBe("handled");
    expect(vi.getTimerCount()).toBe(0);
  });

  /** The store's clock jumps, as if the process was frozen or the database failed over. */
  async function lostLease() {
    let skewMs = 0;
    const store = memoryStore({ now: () => performance.now() + skewMs });
    const { handler, start } = heldHandler();
    const { reports, options } = createCollector();
    const receiver = alarmReceiver(handler, { store, ...options });
    const repeated = await delivery();
    const loser = await start(receiver, repeated);
    skewMs = 30_000;
    // Another process: the first one answers redeliveries in flight while its handler runs.
    const winner = await start(alarmReceiver(handler, { store, ...options }), repeated);
    return { receiver, repeated, reports, loser, winner };
  }

  it("a lost lease is taken over, and context and report say so", async () => {
    const { reports, loser, winner } = await lostLease();
    expect(loser.context.takeover).toBe(false);
    expect(winner.context.takeover).toBe(true);
    winner.resolve();
    expect(await winner.answer).toMatchObject({ status: 200, outcome: "handled" });
    expect(reports).toHaveLength(1);
    expect(reports[0]).toMatchObject({ outcome: "handled", takeover: true });
  });

  it("a lost lease aborts the loser's signal at its next renewal, and not the winner's", async () => {
    const { loser, winner } = await lostLease();
    expect(loser.context.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(loser.context.signal.aborted).toBe(true);
    expect(loser.context.signal.reason).toMatchObject({
      ...{ name: "LeaseLostError", code: "lease_lost" },
      message: expect.stringContaining("another process may be handling it") as string,
    });
    expect(winner.context.signal.aborted).toBe(false);
  });

  it("a late success counts even if the lease was lost", async () => {
    const { receiver, repeated, reports, loser, winner } = await lostLease();
    loser.resolve();
    expect(await outcomeOf(loser.answer)).toBe("handled");
    expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
    winner.reject(new Error("the second run found it done"));
    expect(await outcomeOf(winner.answer)).toBe("handler_failed");
    expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
    expect(reports.find(({ outcome }) => outcome === "handled")).not.toHaveProperty("takeover");
  });

  it("a loser that fails does not release the winner's lease", async () => {
    const { receiver, repeated, loser, winner } = await lostLease();
    loser.reject(new Error("noticed the lost lease"));
    expect(await outcomeOf(loser.answer)).toBe("handler_failed");
    expect(await outcomeOf(receiver.receive(repeated))).toBe("in_flight");
    winner.resolve();
    expect(await outcomeOf(winner.answer)).toBe("handled");
    expect(await outcomeOf(receiver.receive(repeated))).toBe("duplicate");
  });
});
