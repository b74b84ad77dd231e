import type { ConformanceRule } from "./conformance-rule.js";
import { sampleText, type Deliver, type Delivery } from "./deliveries.js";
import { ensureTakesGenuine, expectAcknowledged, type Named } from "./expectations.js";

const WHY = "What the gateway does send is refused: it is sent ten times at most, and then lost.";

/** The plain deliveries: while these are refused, a variation of them says nothing more. */
export const PLAIN_RULES: readonly string[] = ["alarm", "event"];

/** Deliveries that are the gateway's beyond doubt: each has to be acknowledged. */
export function taken(
  rule: Omit<ConformanceRule, "judge" | "level" | "why"> & { readonly why?: string },
  deliveries: (deliver: Deliver) => Promise<readonly Named<Delivery>[]>,
): ConformanceRule {
  return {
    level: "must",
    why: WHY,
    ...rule,
    async judge(trial) {
      if (!PLAIN_RULES.includes(rule.id)) await ensureTakesGenuine(trial);
      await expectAcknowledged(trial, await deliveries(trial.deliver));
    },
  };
}

/** One alarm with some of its fields otherwise. */
export const alarmWith = async (deliver: Deliver, name: string, changes: Record<string, unknown>) =>
  [name, await deliver({ body: sampleText("new_alarm", changes) })] as const;
