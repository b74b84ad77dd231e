import { acceptanceRules } from "./acceptance.js";
import { answerRules } from "./answers.js";
import type { CaseContext } from "./case-context.js";
import {
  ConformanceFailure,
  type ConformanceCase,
  type ConformanceDescription,
  type ConformanceGroup,
  type ConformanceResult,
} from "./conformance-case.js";
import {
  checkConformanceOptions,
  OPTION_NAMES,
  UNMET_NEEDS,
  type ConformanceOptions,
  type ConformanceSettings,
  type OptionNames,
} from "./conformance-options.js";
import {
  CAUSE_OF_CODE,
  CAUSES,
  reasonsOf,
  unmetNeed,
  type ConformanceRule,
  type ConformanceRules,
} from "./conformance-rule.js";
import { KeptConnection } from "./connections.js";
import { forgeryRules } from "./forgery.js";
import { headerRules } from "./headers.js";
import { idempotencyRules } from "./idempotency.js";
import { retriesRules } from "./retries.js";
import { outcomeOf } from "../sending/wire.js";
import { secretOf } from "../signed-delivery.js";
import { adviceOn, BASELINE } from "./receiver-answer.js";
import type { ConformanceCaseReport } from "./run-conformance.js";
import { BaselineCheck, runCheck } from "./run-check.js";
import { AnswerWatch, DeliveryLog, SecretWatch, type SuiteState } from "./suite-state.js";
import { transportRules } from "./transport.js";

const RULES: Readonly<Record<ConformanceGroup, ConformanceRules>> = {
  acceptance: acceptanceRules,
  retries: retriesRules,
  idempotency: idempotencyRules,
  forgery: forgeryRules,
  headers: headerRules,
  transport: transportRules,
  answers: answerRules,
};

/** After all others: one counts again what they sent, one may spoil what comes next, one reads all answers. */
const LAST: readonly string[] = ["late_effects", "ban_after_forgeries", "leaked_secret"];

type PlacedRule = readonly [id: string, rule: ConformanceRule, group: ConformanceGroup];

const PLACED = Object.entries(RULES)
  .flatMap(([group, rules]) =>
    Object.entries(rules).map(([id, rule]): PlacedRule => [id, rule, group as ConformanceGroup]),
  )
  .sort(([one], [other]) => LAST.indexOf(one) - LAST.indexOf(other));

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
  const state: SuiteState = {
    log: new DeliveryLog(),
    secretWatch: new SecretWatch(settings.types.map((type) => secretOf(settings.secret, type))),
    answerWatch: new AnswerWatch(),
    acceptsGenuine: () => baseline.isAccepted(),
  };
  const baseline = new BaselineCheck(settings, state);
  return PLACED.map((placed) => bind(placed, settings, state, baseline));
}

/** What to change first after a failed case: by the code of its failure, by its rule, and at last by its group. */
export function causeOf({ id, group, code, fix, exchanges }: ConformanceCaseReport): string {
  if (code === "receiver_failed") {
    const received = exchanges.at(-1)?.received;
    const body = received !== undefined && "body" in received ? received.body : "";
    return adviceOn(outcomeOf(body)) ?? fix;
  }
  const [, rule] = PLACED.find(([other]) => other === id) ?? [];
  const cause = (code && CAUSE_OF_CODE[code]) ?? rule?.cause ?? group;
  // A group of a later version has none.
  return cause !== "fix" && Object.hasOwn(CAUSES, cause) ? CAUSES[cause] : fix;
}

function bind(
  [id, rule, group]: PlacedRule,
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
  const isBaseline = BASELINE.includes(id);
  const changesHandler = rule.needs?.some((need) => need.startsWith("while")) ?? false;
  const unmet = unmetNeed(rule, settings);
  return {
    ...description,
    unmet,
    runsAlone: rule.runsAlone ?? (changesHandler || isBaseline || LAST.includes(id)),
    async run() {
      if (unmet !== undefined) {
        const reason = UNMET_NEEDS[unmet](names);
        return { result: "not_judged", need: unmet, reason, exchanges: [] };
      }
      if (isBaseline) return runBaseline();
      const silence = await baseline.silence();
      if (silence !== undefined) {
        const reason = `a plain genuine delivery got no answer (${silence}): fix that first`;
        return { result: "not_judged", need: "accepted_delivery", reason, exchanges: [] };
      }
      return run();
    },
  };
}

/** Checks the rule with this id. */
async function checkRule(id: string, rule: ConformanceRule, context: CaseContext): Promise<void> {
  if ("check" in rule) return rule.check(context);
  if ("refuse" in rule) return context.expectRefused(await rule.refuse(context));
  if ("retry" in rule) return context.expectNotGivenUp(await rule.retry(context));
  if ("acceptOrRetry" in rule) {
    return context.expectAcceptedOrRetried(await rule.acceptOrRetry(context));
  }
  if (!BASELINE.includes(id)) await context.ensureAcceptsGenuine();
  if ("accept" in rule) return context.expectAllAccepted(await rule.accept(context));
  if ("whenAccepted" in rule) return rule.whenAccepted(context);
  const { url } = context.settings;
  if (url === undefined) return;
  if ("atUrl" in rule) return rule.atUrl(context, url);
  const connection = new KeptConnection(url, context.settings);
  try {
    await rule.onConnection(context, connection);
  } finally {
    connection.close();
  }
}
