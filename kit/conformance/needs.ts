import type { Need } from "./conformance-case.js";
import type { OptionNames } from "./conformance-options.js";

/** What a rule can need before it runs. */
export type RuleNeed = Extract<
  Need,
  "new_alarm" | "delete_my_data_event" | "url" | "handled" | "whileFailing" | "whileSlow"
>;

/** Thrown when it cannot be seen from outside whether the receiver conforms. */
export class NotJudged extends Error {
  readonly need: Need;

  constructor(need: Need, reason: string) {
    super(reason);
    this.need = need;
  }
}

/** Why a case is not judged without what it needs. `names`: what to call the options. */
export const UNMET_NEEDS: Readonly<Record<Need, (names: OptionNames) => string>> = {
  new_alarm: () => "the receiver is not registered for new_alarm",
  delete_my_data_event: () => "the receiver is not registered for delete_my_data_event",
  url: () => "this case is about the connection: pass a URL as target",
  handled: ({ handled }) =>
    `how often a delivery was handled cannot be seen from outside: pass ${handled}`,
  whileFailing: ({ whileFailing }) =>
    `the handler cannot be made to fail from outside: pass ${whileFailing}`,
  whileSlow: ({ whileSlow }) => `the handler cannot be made slow from outside: pass ${whileSlow}`,
  slow_then_failing: ({ whileFailing, whileSlow }) =>
    `the handler failed at once: under ${whileFailing} together with ${whileSlow} it must be slow first`,
  handled_before_answer: ({ handled }) =>
    `the delivery was handled only after the answer: that is right if it was in a queue that survives the process; in that case let ${handled} also count the deliveries in the queue`,
  accepted_delivery: () => "the receiver does not accept a plain genuine delivery: fix that first",
  longer_secret: () =>
    "the secret is too short to be told from other text: use one of 16 characters or more",
  no_rate_limiter: () => "a rate limiter answered 429: lift its limit for this run",
};
