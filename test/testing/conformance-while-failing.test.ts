import { describe, expect, it } from "vitest";
import type { ConformanceOptions } from "../../src/testing/conformance/conformance-options.js";
import { idsOf, judgeTarget, ledgerReceiver } from "../support/testing/judged-receivers.js";
import { createLedger } from "../support/ledger.js";

const noError: unknown = "text";

describe("whileFailing", () => {
  it("need not pass on what its work gives", async () => {
    const ledger = createLedger();
    const whileFailing = (async (work: () => Promise<unknown>) => {
      await ledger.whileFailing(work);
    }) as NonNullable<ConformanceOptions["whileFailing"]>;
    const options = { target: ledgerReceiver(ledger), handled: ledger.handled, whileFailing };
    const report = await judgeTarget(options, ["failure_sent_again"]);
    expect(idsOf(report, "passed")).toEqual(["failure_sent_again"]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["the option whileFailing failed: no database", () => Promise.reject(new Error("no database"))],
    ["the option whileFailing failed: no reason is given", () => Promise.reject(noError)],
    ["the option whileFailing has to await the work", () => Promise.resolve()],
  ])("that does not work is named: %s", async (message, option) => {
    const whileFailing = option as NonNullable<ConformanceOptions["whileFailing"]>;
    const { results } = await judgeTarget({ whileFailing }, ["failure_sent_again"]);
    expect(results[0]?.reason).toContain(message);
  });

  it("alone is not enough where the receiver names no outcome", async () => {
    let isFailing = false;
    const target = () => new Response("", { status: isFailing ? 500 : 200 });
    const whileFailing: ConformanceOptions["whileFailing"] = async (work) => {
      isFailing = true;
      return work().finally(() => (isFailing = false));
    };
    const [result] = (await judgeTarget({ target, whileFailing }, ["failure_sent_again"])).results;
    expect(result?.verdict).toBe("not_judged");
    expect(result?.reason).toContain("give handled");
  });

  it("alone is enough where the receiver names its outcomes, and the report says so", async () => {
    const ledger = createLedger();
    const { whileFailing } = ledger;
    const target = ledgerReceiver(ledger);
    const [result] = (await judgeTarget({ target, whileFailing }, ["failure_sent_again"])).results;
    expect(result?.verdict).toBe("passed");
    expect(result?.reason).toContain("by the outcome that the receiver names");
  });
});
