import type { CaseContext } from "./case-context.js";
import type { ConformanceDescription } from "./conformance-case.js";
import type { ConformanceSettings, HandlerOption } from "./conformance-options.js";

/** What a rule can need: a webhook type, a URL as target, or an option. */
export type Need = "new_alarm" | "delete_my_data_event" | "url" | "handled" | HandlerOption;

/** One requirement, before it is bound to a receiver. */
export interface ConformanceRule extends Omit<ConformanceDescription, "group"> {
  readonly needs?: readonly Need[];
  /** Throws `context.failure(…)` when the receiver fails, and `NotJudged` when that cannot be seen. */
  readonly check: (context: CaseContext) => Promise<void>;
}

/** Why a rule is not judged without what it needs. */
export const UNMET_NEEDS: Readonly<Record<Need, string>> = {
  new_alarm: "the receiver is not registered for new_alarm",
  delete_my_data_event: "the receiver is not registered for delete_my_data_event",
  url: "this case is about the connection: pass a URL as target",
  handled: "how often a delivery was handled cannot be seen from outside: pass the option handled",
  whileFailing: "the handler cannot be made to fail from outside: pass the option whileFailing",
  whileSlow: "the handler cannot be made slow from outside: pass the option whileSlow",
};

/** The first need of a rule that the settings do not meet. */
export function unmetNeed(
  { needs = [] }: ConformanceRule,
  { types, url, handled, whileFailing, whileSlow }: ConformanceSettings,
): Need | undefined {
  const met: Readonly<Record<Need, boolean>> = {
    new_alarm: types.includes("new_alarm"),
    delete_my_data_event: types.includes("delete_my_data_event"),
    url: url !== undefined,
    handled: handled !== undefined,
    whileFailing: whileFailing !== undefined,
    whileSlow: whileSlow !== undefined,
  };
  return needs.find((need) => !met[need]);
}
