import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ConformanceCase } from "../../src/testing/conformance/conformance-case.js";
import { receiverConformance } from "../../src/testing/conformance/receiver-conformance.js";
import type { MountedAdapter } from "../support/adapters/adapter-exchange.js";
import { adapterTargets, directTarget } from "../support/adapters/adapter-targets.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { ledgerReceiver } from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

/** Only for the names of the tests, which must exist before a server does. */
const cases = receiverConformance({
  target: ledgerReceiver({ record: () => undefined }),
  secret: TEST_SECRET,
});

describe.each([directTarget, ...adapterTargets])("conformance of $name", (target) => {
  const { record, handled, whileFailing, whileSlow } = createLedger();
  let mounted: MountedAdapter;
  let bound: ReadonlyMap<string, ConformanceCase>;

  beforeAll(async () => {
    mounted = await target.open(ledgerReceiver({ record }));
    const suite = receiverConformance({
      target: mounted.target,
      secret: TEST_SECRET,
      handled,
      whileFailing,
      whileSlow,
      skipTlsVerification: true,
    });
    bound = new Map(suite.map((one) => [one.id, one]));
  });

  afterAll(async () => {
    await mounted.close();
  });

  it.each(cases)(`${target.name} passes $id: $title`, async ({ id, group }) => {
    const result = await bound.get(id)?.run();
    // A function has no connection, and the kit speaks only HTTP/1.1.
    const isJudged = typeof mounted.target === "string" || group !== "transport";
    expect(result?.result).toBe(isJudged ? "passed" : "not_judged");
    expect(result?.exchanges.length ?? 0).toBeGreaterThanOrEqual(isJudged ? 1 : 0);
    expect(result?.reason ?? "pass a URL").toContain("pass a URL");
  });
});
