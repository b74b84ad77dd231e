import type { CaseContext } from "./case-context.js";
import type { ConformanceDescription } from "./conformance-case.js";
import type { ConformanceSettings, OptionNames } from "./conformance-options.js";
import type { RuleNeed } from "./needs.js";

/** One requirement, before it is bound to a receiver. */
export interface ConformanceRule extends Omit<ConformanceDescription, "group" | "fix"> {
  readonly fix: string | ((names: OptionNames) => string);
  readonly needs?: readonly RuleNeed[];
  /** Throws `context.failure(…)` when the receiver fails, `context.notJudged(…)` when that cannot be seen. */
  readonly check: (context: CaseContext) => Promise<void>;
}

/** The first need of a rule that the settings do not meet. */
export function unmetNeed(
  { needs = [] }: ConformanceRule,
  { types, url, handled, whileFailing, whileSlow }: ConformanceSettings,
): RuleNeed | undefined {
  const met: Readonly<Record<RuleNeed, boolean>> = {
    new_alarm: types.includes("new_alarm"),
    delete_my_data_event: types.includes("delete_my_data_event"),
    url: url !== undefined,
    handled: handled !== undefined,
    whileFailing: whileFailing !== undefined,
    whileSlow: whileSlow !== undefined,
  };
  return needs.find((need) => !met[need]);
}
