import { beforeAll, describe, expect, it } from "vitest";
import { receiverConformance } from "../../kit/conformance/receiver-conformance.js";
import {
  runConformance,
  type ConformanceCaseReport,
} from "../../kit/conformance/run-conformance.js";
import { inPool } from "../flawed/judge.js";
import { adapterTargets } from "../support/adapters/adapter-targets.js";
import { directTarget } from "../support/adapters/target-kinds.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { ledgerReceiver } from "../support/testing/run-suite.js";
import { createLedger } from "../support/ledger.js";

/** Only for the names of the tests, which must exist before a server does. */
const cases = receiverConformance({
  target: ledgerReceiver({ record: () => undefined }),
  secret: TEST_SECRET,
});

const targets = [directTarget, ...adapterTargets];
/** Longer than any machine takes to send every delivery of a case. A slow handler ends with its case. */
const SLOW_MS = 30_000;
/** Most of a run is waiting. */
const AT_A_TIME = 6;

/** The reports of an adapter by the id of the case, and whether it was reached by a URL. */
interface Run {
  readonly reports: ReadonlyMap<string, ConformanceCaseReport>;
  readonly isUrl: boolean;
}

describe("conformance of the adapters", () => {
  const runs = new Map<string, Run>();

  beforeAll(async () => {
    await inPool(targets, AT_A_TIME, async (adapter) => {
      const { record, handled, whileFailing, whileSlow } = createLedger(SLOW_MS);
      // On Lambda a handler that is given up keeps its lease, which must not end while the handler is slow.
      const mounted = await adapter.open(ledgerReceiver({ record }, { leaseMs: 2 * SLOW_MS }));
      const { target } = mounted;
      const probes = { handled, whileFailing, whileSlow };
      const options = { target, secret: TEST_SECRET, ...probes, skipTlsVerification: true };
      const { results } = await runConformance(receiverConformance(options));
      await mounted.close();
      const reports = new Map(results.map((result) => [result.id, result]));
      runs.set(adapter.name, { reports, isUrl: typeof target === "string" });
    });
  });

  describe.each(targets)("$name", ({ name }) => {
    it.each(cases)(`${name} passes $id: $title`, ({ id, group }) => {
      const { reports, isUrl } = runs.get(name) ?? {};
      const { result, reason, exchanges = [] } = reports?.get(id) ?? {};
      // A function has no connection, and the kit speaks only HTTP/1.1.
      const needsUrl = id === "hang_up" || (group === "transport" && id !== "largest_body");
      const isJudged = isUrl === true || !needsUrl;
      expect([result, reason ?? "pass a URL"], reason).toEqual([
        isJudged ? "passed" : "not_judged",
        expect.stringContaining("pass a URL"),
      ]);
      expect(exchanges.length).toBeGreaterThanOrEqual(isJudged ? 1 : 0);
    });
  });
});
