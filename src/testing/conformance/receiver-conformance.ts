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
import { UNMET, unmetNeed, type ConformanceRule } from "./conformance-rule.js";
import { forgeryRules } from "./forgery-rules.js";
import { formRules } from "./form-rules.js";
import { givingUpRules } from "./giving-up-rules.js";
import { handlingRules } from "./handling-rules.js";
import { headerRules } from "./header-rules.js";
import { mannersRules } from "./manners-rules.js";
import { onceRules } from "./once-rules.js";
import { createPlainDelivery, type PlainDelivery } from "./plain-delivery.js";
import { signatureRules } from "./signature-rules.js";
import { PLAIN_RULES } from "./taken.js";
import { transportRules } from "./transport-rules.js";
import { withTrial } from "./trial.js";
import { unfamiliarRules } from "./unfamiliar-rules.js";

const RULES: Readonly<Record<ConformanceGroup, readonly ConformanceRule[]>> = {
  handling: [...handlingRules, ...formRules],
  "giving up": [...givingUpRules, ...unfamiliarRules],
  once: onceRules,
  forgery: [...signatureRules, ...forgeryRules],
  headers: headerRules,
  transport: transportRules,
  manners: mannersRules,
};

/**
 * What a receiver of the gateway has to do, as cases for any test runner. It judges by requests and
 * answers alone, so a receiver in any language, behind any proxy:
 *
 * ```ts
 * const target = "http://127.0.0.1:3000/webhooks/gateway";
 * for (const { title, run } of receiverConformance({ target, secret })) test(title, run);
 * ```
 *
 * Each case sends synthetic deliveries with ids of their own; the receiver handles those that are
 * genuine, about 90 in a whole run. What cannot be seen with what was given is `not_judged`, which a
 * test runner takes for passed: give `handled`, `whileFailing` and `whileSlow`, and look at the
 * verdict of `runConformance`.
 *
 * @throws ConfigurationError for an option that is unknown or cannot work.
 */
export function receiverConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  const settings = checkConformanceOptions(options);
  const plain = createPlainDelivery(settings);
  return Object.entries(RULES).flatMap(([group, rules]) =>
    rules.map((rule) => bind(rule, group as ConformanceGroup, settings, plain)),
  );
}

function bind(
  rule: ConformanceRule,
  group: ConformanceGroup,
  settings: ConformanceSettings,
  plain: PlainDelivery,
): ConformanceCase {
  const { id, level, title, why, mend, judge } = rule;
  const description: ConformanceDescription = { id, level, group, title, why, mend };
  const run = (): Promise<ConformanceResult> =>
    withTrial(description, settings, plain.isTaken, judge);
  const runPlain = async (): Promise<ConformanceResult> => {
    try {
      const result = await run();
      plain.learn(result.exchanges);
      return result;
    } catch (error) {
      if (error instanceof ConformanceFailure) plain.learn(error.exchanges);
      throw error;
    }
  };
  return {
    ...description,
    async run() {
      const unmet = unmetNeed(rule, settings);
      if (unmet !== undefined) {
        return { verdict: "not_judged", reason: UNMET[unmet], exchanges: [] };
      }
      if (PLAIN_RULES.includes(id)) return runPlain();
      const silence = await plain.silence();
      if (silence !== undefined) {
        const reason = `a plain genuine delivery got no answer (${silence}): mend that first`;
        return { verdict: "not_judged", reason, exchanges: [] };
      }
      return run();
    },
  };
}
