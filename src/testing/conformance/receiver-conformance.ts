import { answerRules } from "./answer-rules.js";
import { BaselineCheck } from "./baseline-check.js";
import { runCheck } from "./case-context.js";
import { concurrentForgeryRule } from "./concurrent-rules.js";
import {
  ConformanceFailure,
  type ConformanceCase,
  type ConformanceDescription,
  type ConformanceGroup,
  type ConformanceResult,
} from "./conformance-case.js";
import {
  checkConformanceOptions,
  type ConformanceOptions,
  type ConformanceSettings,
} from "./conformance-options.js";
import { UNMET_NEEDS, unmetNeed, type ConformanceRule } from "./conformance-rule.js";
import { forgeryRules } from "./forgery-rules.js";
import { genuineRecordRules } from "./genuine-record-rules.js";
import { genuineRequestRules } from "./genuine-request-rules.js";
import { headerRules } from "./header-rules.js";
import { idempotencyRules } from "./idempotency-rules.js";
import { oddRecordRules } from "./odd-record-rules.js";
import { retryableRefusalRules } from "./retryable-refusal-rules.js";
import { BASELINE_RULES } from "./rule-kinds.js";
import { signatureRules } from "./signature-rules.js";
import { transportRules } from "./transport-rules.js";
import { unknownContentRules } from "./unknown-content-rules.js";

const RULES: Readonly<Record<ConformanceGroup, readonly ConformanceRule[]>> = {
  acceptance: [...genuineRecordRules, ...genuineRequestRules],
  retries: [...retryableRefusalRules, ...unknownContentRules, ...oddRecordRules],
  idempotency: idempotencyRules,
  forgery: [...signatureRules, ...forgeryRules, concurrentForgeryRule],
  headers: headerRules,
  transport: transportRules,
  answers: answerRules,
};

/**
 * Everything that a receiver of the gateway's webhooks must do, as cases for any test runner. The cases see
 * only requests and answers, so they work for a receiver in any language, behind any proxy.
 *
 * Each case sends synthetic deliveries with new ids. The receiver handles the genuine ones as if they were
 * real, about 270 in a whole run.
 *
 * A case whose result the options do not show ends as `not_judged`, which a test runner counts as passed.
 * Pass `handled`, `whileFailing` and `whileSlow` to see more, and read each `result` of `runConformance` once.
 *
 * @example
 * const target = "http://127.0.0.1:3000/webhooks/gateway";
 * for (const { title, run } of receiverConformance({ target, secret })) test(title, run);
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function receiverConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  const settings = checkConformanceOptions(options);
  const baseline = new BaselineCheck(settings);
  return Object.entries(RULES).flatMap(([group, rules]) =>
    rules.map((rule) => bind(rule, group as ConformanceGroup, settings, baseline)),
  );
}

function bind(
  rule: ConformanceRule,
  group: ConformanceGroup,
  settings: ConformanceSettings,
  baseline: BaselineCheck,
): ConformanceCase {
  const { id, level, title, why, fix, check } = rule;
  const description: ConformanceDescription = { id, level, group, title, why, fix };
  const run = (): Promise<ConformanceResult> =>
    runCheck(description, settings, () => baseline.isAccepted(), check);
  const runBaseline = async (): Promise<ConformanceResult> => {
    try {
      const ended = await run();
      baseline.learn(ended.exchanges);
      return ended;
    } catch (error) {
      if (error instanceof ConformanceFailure) baseline.learn(error.exchanges);
      throw error;
    }
  };
  return {
    ...description,
    async run() {
      const unmet = unmetNeed(rule, settings);
      if (unmet !== undefined) {
        return { result: "not_judged", reason: UNMET_NEEDS[unmet], exchanges: [] };
      }
      if (BASELINE_RULES.includes(id)) return runBaseline();
      const silence = await baseline.silence();
      if (silence !== undefined) {
        const reason = `a plain genuine delivery got no answer (${silence}): fix that first`;
        return { result: "not_judged", reason, exchanges: [] };
      }
      return run();
    },
  };
}
