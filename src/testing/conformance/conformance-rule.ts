import type { ConformanceDescription } from "./conformance-case.js";
import type { ConformanceSettings } from "./conformance-options.js";
import type { Trial } from "./trial.js";
import type { HandlerOption } from "./while-handler.js";

/** What has to be given so that a rule can be judged. */
export type Need = "new_alarm" | "delete_my_data_event" | "url" | "handled" | HandlerOption;

/** One requirement, before it is bound to a receiver. */
export interface ConformanceRule extends Omit<ConformanceDescription, "group"> {
  readonly needs?: readonly Need[];
  /** Throws `trial.failure(…)` where the receiver does otherwise, and `NotJudged` where that stays unseen. */
  readonly judge: (trial: Trial) => Promise<void>;
}

/** Why a rule is not judged without what it needs. */
export const UNMET: Readonly<Record<Need, string>> = {
  new_alarm: "the receiver is not registered for new_alarm",
  delete_my_data_event: "the receiver is not registered for delete_my_data_event",
  url: "it is about the connection, which only a URL has",
  handled: "how often a delivery was handled cannot be seen from outside: give handled",
  whileFailing: "no handler can be made to fail from outside: give whileFailing",
  whileSlow: "no handler can be made to finish late from outside: give whileSlow",
};

/** The first need that is not met. */
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
