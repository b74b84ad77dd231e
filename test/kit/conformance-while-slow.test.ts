import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import {
  failureOf,
  runSuite,
  ledgerReceiver,
  type Answering,
} from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

const CASE = "late_handler_counts";
type WhileSlow = NonNullable<ConformanceOptions["whileSlow"]>;

async function judgeSlow(options: Partial<ConformanceOptions>) {
  const [result] = (await runSuite(options, [CASE])).results;
  return result;
}

/** The bodies that the receiver answered in the case. */
function bodiesOf(result: Awaited<ReturnType<typeof judgeSlow>>): readonly string[] {
  return (result?.exchanges ?? []).map(({ received }) => ("body" in received ? received.body : ""));
}

describe("whileSlow", () => {
  it("whileSlow shows that a retry after a late handler is a duplicate", async () => {
    const ledger = createLedger();
    const { handled, whileSlow } = ledger;
    const result = await judgeSlow({ target: ledgerReceiver(ledger), handled, whileSlow });
    expect(result).toMatchObject({ result: "passed" });
    expect(result).not.toHaveProperty("reason");
    const bodies = bodiesOf(result);
    expect(bodies.join("\n")).toContain("HANDLER_TIMEOUT");
    expect(bodies.join("\n")).toContain("IN_FLIGHT");
    expect(bodies.at(-1)).toBe('{"outcome":"duplicate"}');
    const headers = result?.exchanges.map(({ sent }) => new Map(sent.headers)) ?? [];
    // Of each kind of record: the first request, a duplicate meanwhile, and retries.
    const ids = headers.map((of) => of.get("X-Webhook-Id"));
    expect(new Set(headers.map((of) => of.get("X-Webhook-Type"))).size).toBe(2);
    expect(new Set(ids).size).toBeGreaterThan(25);
    expect(ids.length).toBeGreaterThan(3 * new Set(ids).size);
  });

  it("whileSlow passes a receiver that awaits its handler, and says that nothing was late", async () => {
    const ledger = createLedger();
    const { handled, whileSlow } = ledger;
    const target = ledgerReceiver(ledger, { handlerTimeoutMs: 20_000 });
    const result = await judgeSlow({ target, handled, whileSlow });
    expect(result?.result).toBe("passed");
    expect(result?.reason).toContain("slower than the receiver's time-out");
  });

  it("whileSlow passes a receiver with a durable queue that answers the first request long after its duplicate", async () => {
    const ledger = createLedger();
    const { handled, whileSlow } = ledger;
    const queued = new Set<string>();
    const target: Answering = async ({ headers }) => {
      const id = headers.get("x-webhook-id") ?? "";
      if (!queued.has(id)) {
        queued.add(id);
        void ledger.record({ id });
        await wait(700);
      }
      return new Response("queued", { status: 202 });
    };
    expect(await judgeSlow({ target, handled, whileSlow })).toMatchObject({ result: "passed" });
  });

  it("whileSlow alone is enough if the receiver names a duplicate, and the report says so", async () => {
    const ledger = createLedger();
    const { whileSlow } = ledger;
    const result = await judgeSlow({ target: ledgerReceiver(ledger), whileSlow });
    expect(result?.result).toBe("passed");
    expect(result?.reason).toContain("by the outcome in the receiver's answer");
  });

  it("whileSlow alone is not enough if the receiver names no outcome", async () => {
    const target: Answering = () => new Response("", { status: 200 });
    const result = await judgeSlow({ target, whileSlow: createLedger().whileSlow });
    expect(result?.result).toBe("not_judged");
    expect(result?.reason).toContain("the option handled");
  });

  it("whileSlow catches a final status for a late handler", async () => {
    let isSlow = false;
    const whileSlow: WhileSlow = async (work) => {
      isSlow = true;
      return work().finally(() => (isSlow = false));
    };
    const target: Answering = () => new Response("", { status: isSlow ? 422 : 200 });
    const failure = await failureOf(CASE, { target, whileSlow });
    expect(failure.message).toContain(
      "while the handler is slow, email_hacked: expected 2xx or a retryable",
    );
  });

  it.each<[string, () => Promise<unknown>]>([
    ["the option whileSlow failed: no switch", () => Promise.reject(new Error("no switch"))],
    ["the option whileSlow must call and await its argument", () => Promise.resolve()],
  ])("a broken whileSlow fails the case with the message: %s", async (message, option) => {
    const failure = await failureOf(CASE, { whileSlow: option as WhileSlow });
    expect(failure.message).toContain(message);
  });

  it("a handler that fails at once shows nothing about a late failure, and the report says so", async () => {
    const { record, handled, whileFailing } = createLedger();
    const target = ledgerReceiver({ record });
    const whileSlow: WhileSlow = (work) => work();
    const options = { target, handled, whileFailing, whileSlow };
    const [result] = (await runSuite(options, ["late_failure_released"])).results;
    expect(result?.result).toBe("not_judged");
    expect(result?.reason).toContain("the handler failed at once");
  });
});
