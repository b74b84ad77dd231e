import type { TwinAttempt } from "identity-gateway-webhooks/testing";
import type { Ledger } from "./ledger.js";
import type { Answer, Row } from "./row.js";

/** Requests that have to be answered alike: one, unless `times` says how many. */
export type Step = readonly [done: string, expected: Answer, times?: number];

/**
 * Holds what was sent against the steps that each of the deliveries has to go through. Returns a row for
 * each step, which shows an answer that is not the expected one, if there is any.
 */
export function rowsOf(
  ledger: Ledger,
  delivery: string,
  deliveries: readonly { readonly attempts: readonly TwinAttempt[] }[],
  ...steps: readonly Step[]
): readonly Row[] {
  let from = 0;
  return steps.map(([done, expected, times = 1]) => {
    const requests = deliveries.flatMap(({ attempts }) => attempts.slice(from, from + times));
    from += times;
    for (const { id } of requests) ledger.enter(id, delivery, expected.outcome);
    const different = requests.find(
      ({ status, outcome }) => status !== expected.status || outcome !== expected.outcome,
    );
    const isMade = requests.length === times * deliveries.length;
    const { status, outcome, ms = 0 } = different ?? requests[0] ?? {};
    return {
      ...{ delivery, done, expected, ms, requests: requests.length },
      ...(status === undefined ? {} : { status }),
      ...(outcome === undefined ? {} : { outcome }),
      verdict: isMade && different === undefined ? "as_expected" : "different",
    };
  });
}
