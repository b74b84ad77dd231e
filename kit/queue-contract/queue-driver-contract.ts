import { integerOption, ownOptions } from "../../src/common/option-checks.js";
import type { MaybePromise } from "../../src/common/promises.js";
import { checkOption } from "../option-checks.js";
import type { SkippableTest } from "../run-or-skip.js";
import type { ContractCase } from "../store-contract/contract-case.js";
import { deadRules } from "./dead-rules.js";
import { messageRules } from "./message-rules.js";
import { QueueClients, type QueueRule, type QueueUnderTest } from "./queue-clients.js";
import { workerRules } from "./worker-rules.js";

/** How much longer leases are when a case is repeated. */
const LONGER = 4;

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
 * A case watches a queue for up to 4 times `holdMs`. If it fails before `patienceMs` is over, a busy machine may be to
 * blame: it is repeated with leases of 4 times `holdMs`, and fails if that fails too.
 *
 * @throws ConfigurationError for an unknown or invalid option.
 * @experimental
 * @example
 * ```ts
 * const cases = queueDriverContract(async () => {
 *   const [driver, otherClient] = [await connectMyQueue(), await connectMyQueue()];
 *   return { driver, otherClient, close: () => deleteMyQueue() };
 * });
 * for (const { title, run } of cases) test(title, run, 60_000);
 * ```
 */
export function queueDriverContract(
  makeQueue: () => MaybePromise<QueueUnderTest>,
  options: QueueDriverContractOptions = {},
): readonly ContractCase[] {
  const own = ownOptions("queueDriverContract", options, ["holdMs", "patienceMs"]);
  checkOption(typeof makeQueue === "function", "makeQueue must be a function");
  const holdMs = integerOption("holdMs", own.holdMs, { fallback: 2_000, min: 100, max: 60_000 });
  const bounds = { fallback: 30_000, min: 100, max: 600_000 };
  const patienceMs = integerOption("patienceMs", own.patienceMs, bounds);
  const rules = { ...messageRules, ...workerRules, ...deadRules };
  const judge = async ({ isJudged, check }: QueueRule, ms: number) => {
    const made = await makeQueue();
    const clients = new QueueClients(made, ms, patienceMs);
    try {
      const reason = isJudged?.(made);
      if (reason !== undefined) return { result: "not_judged", reason } as const;
      await check(clients);
      return { result: "passed" } as const;
    } finally {
      await clients.stop();
      await made.close?.();
    }
  };
  return Object.entries(rules).map(([id, rule]) => ({
    id,
    title: rule.title,
    // The default value keeps run.length at 0: a runner may take a parameter for a callback.
    async run(test: SkippableTest = {}) {
      const startedAt = performance.now();
      const ended = await judge(rule, holdMs).catch((error: unknown) => {
        // What did not come in all that time comes no sooner the second time.
        if (performance.now() - startedAt >= patienceMs) throw error;
        return judge(rule, LONGER * holdMs);
      });
      if (ended.result === "not_judged") test.skip?.(ended.reason);
      return ended;
    },
  }));
}
