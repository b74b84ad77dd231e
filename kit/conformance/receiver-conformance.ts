import { answerRules } from "./answer-rules.js";
import { BaselineCheck } from "./baseline-check.js";
import type { SuiteState } from "./case-context.js";
import { concurrentForgeryRules } from "./concurrent-rules.js";
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
  OPTION_NAMES,
  type ConformanceSettings,
  type OptionNames,
} from "./conformance-options.js";
import { unmetNeed, type ConformanceRule, type ConformanceRules } from "./conformance-rule.js";
import { DeliveryLog } from "./delivery-log.js";
import { forgeryBanRules, lateEffectsRules, leakedSecretRules } from "./last-rules.js";
import { forgeryRules } from "./forgery-rules.js";
import { genuineRecordRules } from "./genuine-record-rules.js";
import { genuineRequestRules } from "./genuine-request-rules.js";
import { headerRules } from "./header-rules.js";
import { http10Rules } from "./raw-request-rules.js";
import { idempotencyRules } from "./idempotency-rules.js";
import { UNMET_NEEDS } from "./needs.js";
import { oddRecordRules } from "./odd-record-rules.js";
import { rareRecordRules, rareValueRules } from "./rare-record-rules.js";
import { retryableRefusalRules } from "./retryable-refusal-rules.js";
import { BASELINE_RULES, checkRule, reasonsOf } from "./rule-kinds.js";
import { runCheck } from "./run-check.js";
import { SecretWatch } from "./secret-watch.js";
import { signatureRules } from "./signature-rules.js";
import { transportRules } from "./transport-rules.js";
import { unknownContentRules } from "./unknown-content-rules.js";

const RULES: Readonly<Record<ConformanceGroup, ConformanceRules>> = {
  acceptance: { ...genuineRecordRules, ...rareValueRules, ...genuineRequestRules },
  retries: {
    ...retryableRefusalRules,
    ...unknownContentRules,
    ...oddRecordRules,
    ...rareRecordRules,
  },
  idempotency: idempotencyRules,
  forgery: { ...signatureRules, ...forgeryRules, ...concurrentForgeryRules },
  headers: headerRules,
  transport: { ...transportRules, ...http10Rules },
  answers: answerRules,
};

/** After all others: one counts again what they sent, one may spoil what comes next, one reads all answers. */
const LAST_RULES: readonly (readonly [ConformanceGroup, ConformanceRules])[] = [
  ["idempotency", lateEffectsRules],
  ["acceptance", forgeryBanRules],
  ["answers", leakedSecretRules],
];

/**
 * Everything that a receiver of the gateway's webhooks must do, as cases for any test runner. The cases see
 * only requests and answers, so they work for a receiver in any language, behind any proxy.
 *
 * Each case sends synthetic deliveries with new ids. The receiver handles the genuine ones as if they were
 * real, about 850 in a whole run.
 *
 * A case whose result the options do not show ends as `not_judged`: `runOrSkip` skips its test.
 * Pass `handled`, `whileFailing` and `whileSlow` to see more, and read each `result` of `runConformance` once.
 *
 * @example
 * const target = "http://127.0.0.1:3000/webhooks/gateway";
 * for (const one of receiverConformance({ target, secret })) test(one.title, runOrSkip(one));
 *
 * @throws ConfigurationError for an unknown or invalid option.
 */
export function receiverConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  return conformanceCases(options, OPTION_NAMES);
}

/** Like `receiverConformance`, with texts that call the options by other names. */
export function conformanceCases(
  options: ConformanceOptions,
  names: OptionNames,
): readonly ConformanceCase[] {
  const settings = checkConformanceOptions(options, names);
  const seen = { log: new DeliveryLog(), secretWatch: new SecretWatch(settings.secret) };
  const baseline = new BaselineCheck(settings, seen);
  const grouped = Object.entries(RULES) as [ConformanceGroup, ConformanceRules][];
  const state: SuiteState = { ...seen, acceptsGenuine: () => baseline.isAccepted() };
  return [...grouped, ...LAST_RULES].flatMap(([group, rules]) =>
    Object.entries(rules).map(([id, rule]) => bind(id, rule, group, settings, state, baseline)),
  );
}

function bind(
  id: string,
  rule: ConformanceRule,
  group: ConformanceGroup,
  settings: ConformanceSettings,
  state: SuiteState,
  baseline: BaselineCheck,
): ConformanceCase {
  const { title, level = "must" } = rule;
  const { names } = settings;
  const { why, fix } = reasonsOf(rule, names);
  const description: ConformanceDescription = { id, level, group, title, why, fix };
  const run = (): Promise<ConformanceResult> =>
    runCheck(description, settings, state, (context) => checkRule(id, rule, context));
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
  const isLast = LAST_RULES.some(([, rules]) => rules[id] === rule);
  const changesHandler = rule.needs?.some(
    (need) => need === "whileFailing" || need === "whileSlow",
  );
  const unmet = unmetNeed(rule, settings);
  return {
    ...description,
    unmet,
    runsAlone: rule.runsAlone ?? (changesHandler === true || isLast || BASELINE_RULES.includes(id)),
    async run() {
      if (unmet !== undefined) {
        const reason = UNMET_NEEDS[unmet](names);
        return { result: "not_judged", need: unmet, reason, exchanges: [] };
      }
      if (BASELINE_RULES.includes(id)) return runBaseline();
      const silence = await baseline.silence();
      if (silence !== undefined) {
        const reason = `a plain genuine delivery got no answer (${silence}): fix that first`;
        return { result: "not_judged", need: "accepted_delivery", reason, exchanges: [] };
      }
      return run();
    },
  };
}
