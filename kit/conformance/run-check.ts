import { CaseContext, type SuiteState } from "./case-context.js";
import type { ConformanceDescription, ConformanceResult } from "./conformance-case.js";
import type { ConformanceSettings } from "./conformance-options.js";
import { NotJudged } from "./needs.js";

/**
 * Runs `check` in a new context. Rejects with what `check` throws, unless that is `NotJudged`. Cases of one suite
 * share the state.
 */
export async function runCheck(
  description: ConformanceDescription,
  settings: ConformanceSettings,
  state: SuiteState,
  check: (context: CaseContext) => Promise<void>,
): Promise<ConformanceResult> {
  const context = new CaseContext(description, settings, state);
  try {
    await check(context);
    return context.result();
  } catch (error) {
    if (!(error instanceof NotJudged)) {
      context.forgetCounts();
      throw error;
    }
    const { need, message: reason } = error;
    return { result: "not_judged", need, reason, exchanges: context.exchanges };
  } finally {
    context.close();
  }
}
