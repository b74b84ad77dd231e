import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import type { MaybePromise } from "../../src/common/promises.js";
import { checkOption } from "../option-checks.js";
import type { SkippableTest } from "../run-or-skip.js";
import type { ContractCase } from "../store-contract/contract-case.js";
import { withLonger } from "../store-contract/run-rule.js";
import { deadRules } from "./dead-rules.js";
import { messageRules } from "./message-rules.js";
import { QueueClients, type QueueUnderTest } from "./queue-clients.js";
import { workerRules } from "./worker-rules.js";

/**
 * Options of `queueDriverContract`.
 *
 * @experimental
 */
export interface QueueDriverContractOptions {
  /**
   * The longest time for which the engine holds the message of a crashed worker, in milliseconds. From 100 to
   * 60 000, default 2 000: give the engine a short one for the test.
   */
  readonly holdMs?: number | undefined;
  /** How long a message may take to arrive, in milliseconds. From 100 to 600 000, default 30 000. */
  readonly patienceMs?: number | undefined;
}

/**
 * Every rule of `QueueDriver` as cases for any test runner. Each case makes an empty queue of its own and closes it.
 * A case watches a queue for up to 4 times `holdMs`. A case that fails is repeated with a hold 4 and then 16 times as
 * long if its calls or the machine were slow: `makeQueue` gets the hold.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @experimental
 * @example
 * ```ts
 * const cases = queueDriverContract(async (holdMs) => {
 *   const [driver, otherClient] = [await connectMyQueue(holdMs), await connectMyQueue(holdMs)];
 *   return { driver, otherClient, close: () => deleteMyQueue() };
 * });
 * for (const { title, run } of cases) test(title, run, 60_000);
 * ```
 */
export function queueDriverContract(
  makeQueue: (holdMs: number) => MaybePromise<QueueUnderTest>,
  options: QueueDriverContractOptions = {},
): readonly ContractCase[] {
  const own = ownOptions("queueDriverContract", options, ["holdMs", "patienceMs"]);
  checkOption(typeof makeQueue === "function", "makeQueue must be a function");
  const holdMs = integerOption("holdMs", own.holdMs, { fallback: 2_000, min: 100, max: 60_000 });
  const bounds = { fallback: 30_000, min: 100, max: 600_000 };
  const patienceMs = integerOption("patienceMs", own.patienceMs, bounds);
  const rules = { ...messageRules, ...workerRules, ...deadRules };
  return Object.entries(rules).map(([id, { title, isJudged, check }]) => ({
    id,
    title,
    // The default value keeps run.length at 0: a runner may take a parameter for a callback.
    run(test: SkippableTest = {}) {
      return withLonger("holdMs", holdMs, async (ms, late) => {
        const made = await makeQueue(ms);
        const clients = new QueueClients(made, ms, patienceMs + 2 * (ms - holdMs), late);
        try {
          const reason = isJudged?.(made);
          if (reason !== undefined) {
            test.skip?.(reason);
            return { result: "not_judged", reason };
          }
          await check(clients);
          return { result: "passed" };
        } finally {
          await clients.stop();
          await made.close?.();
        }
      });
    },
  }));
}
