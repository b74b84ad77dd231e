import type { TwinAttempt } from "identity-gateway-webhooks/testing";
import type { Ledger } from "./ledger.js";
import type { Answer, Row } from "./row.js";

/** Requests with the same expected answer. `times` defaults to one. */
export type Step = readonly [done: string, expected: Answer, times?: number];

/**
 * Compares the attempts with the expected steps of each delivery. Returns a row per step. The row shows an
 * unexpected answer if there is one.
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
      delivery,
      done,
      expected,
      ms,
      requests: requests.length,
      ...(status === undefined ? {} : { status }),
      ...(outcome === undefined ? {} : { outcome }),
      result: isMade && different === undefined ? "as_expected" : "different",
    };
  });
}
