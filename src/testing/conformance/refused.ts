import type { ConformanceRule } from "./conformance-rule.js";
import type { Delivery } from "./deliveries.js";
import { expectRefused, type Named } from "./expectations.js";
import type { Trial } from "./trial.js";

const WHY = "Anyone who finds the URL can raise alarms, or change those that are sent.";
const MEND =
  "Compute HMAC-SHA256 over `v1:` + X-Webhook-Timestamp + `:` + X-Webhook-Id + `:` + the raw body, and compare in constant time.";

/** Requests that the gateway never made: each has to be refused. */
export function refused(
  rule: Pick<ConformanceRule, "id" | "title"> & Partial<ConformanceRule>,
  requests: (trial: Trial) => Promise<readonly Named<Delivery>[]>,
): ConformanceRule {
  return {
    level: "must",
    why: WHY,
    mend: MEND,
    ...rule,
    judge: async (trial) => expectRefused(trial, await requests(trial)),
  };
}
