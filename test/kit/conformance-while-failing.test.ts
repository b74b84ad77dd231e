import { describe, expect, it } from "vitest";
import type { ConformanceOptions } from "../../kit/conformance/conformance-options.js";
import { idsOf, runSuite, ledgerReceiver } from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

const noError: unknown = "text";

describe("whileFailing", () => {
  it("whileFailing need not return the result of its work", async () => {
    const ledger = createLedger();
    const whileFailing = (async (work: () => Promise<unknown>) => {
      await ledger.whileFailing(work);
    }) as NonNullable<ConformanceOptions["whileFailing"]>;
    const options = { target: ledgerReceiver(ledger), handled: ledger.handled, whileFailing };
    const report = await runSuite(options, ["failure_sent_again"]);
    expect(idsOf(report, "passed")).toEqual(["failure_sent_again"]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["the option whileFailing failed: no database", () => Promise.reject(new Error("no database"))],
    ["the option whileFailing failed: no reason is given", () => Promise.reject(noError)],
    ["the option whileFailing must call and await its argument", () => Promise.resolve()],
  ])("a broken whileFailing is named: %s", async (message, option) => {
    const whileFailing = option as NonNullable<ConformanceOptions["whileFailing"]>;
    const { results } = await runSuite({ whileFailing }, ["failure_sent_again"]);
    expect(results[0]?.reason).toContain(message);
  });

  it("whileFailing alone is not enough if the receiver names no outcome", async () => {
    let isFailing = false;
    const target = () => new Response("", { status: isFailing ? 500 : 200 });
    const whileFailing: ConformanceOptions["whileFailing"] = async (work) => {
      isFailing = true;
      return work().finally(() => (isFailing = false));
    };
    const [result] = (await runSuite({ target, whileFailing }, ["failure_sent_again"])).results;
    expect(result?.result).toBe("not_judged");
    expect(result?.reason).toContain("the option handled");
  });

  it.each<[does: string, result: string, reason: string, retries: boolean, isCounted: boolean]>([
    ["handles it later", "not_judged", "a queue that survives the process", true, true],
    ["drops it", "failed", "but handled never in 300 ms", false, true],
    ["may handle it later", "not_judged", "pass the option handled", true, false],
  ])(
    "a receiver that acknowledges a delivery whose handler fails and %s is %s",
    async (_, result, reason, retries, isCounted) => {
      const ledger = createLedger();
      const done = new Set<string>();
      const work = async (id: string): Promise<void> => {
        try {
          if (!done.has(id)) await ledger.record({ id });
          done.add(id);
        } catch {
          // As a worker does that tries again.
          if (retries) setTimeout(() => void work(id), 20);
        }
      };
      const target = async ({ headers }: Request): Promise<Response> => {
        await work(headers.get("x-webhook-id") ?? "");
        return new Response("", { status: 202 });
      };
      const { whileFailing } = ledger;
      const handled = isCounted ? ledger.handled : undefined;
      // The retry ends the wait, however slow the machine is.
      const handledWithinMs = retries ? 30_000 : 300;
      const options = { target, handled, whileFailing, handledWithinMs };
      const [end] = (await runSuite(options, ["failure_sent_again"])).results;
      expect([end?.result, end?.reason]).toEqual([result, expect.stringContaining(reason)]);
    },
  );

  it("whileFailing alone is enough if the receiver names its outcomes, and the report says so", async () => {
    const ledger = createLedger();
    const { whileFailing } = ledger;
    const target = ledgerReceiver(ledger);
    const [result] = (await runSuite({ target, whileFailing }, ["failure_sent_again"])).results;
    expect(result?.result).toBe("passed");
    expect(result?.reason).toContain("by the outcome in the receiver's answer");
  });
});
