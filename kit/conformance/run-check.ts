import { CaseContext } from "./case-context.js";
import type {
  ConformanceDescription,
  ConformanceExchange,
  ConformanceResult,
} from "./conformance-case.js";
import { NotJudged, type ConformanceSettings } from "./conformance-options.js";
import type { SuiteState } from "./suite-state.js";

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
  const context = new CaseContext({ ...description }, settings, state);
  try {
    await check(context);
    if (context.stranger !== undefined) throw context.stranger;
    return context.result();
  } catch (error) {
    // Whatever the case has found: it may have found it in someone else's answer.
    const failure = context.stranger ?? error;
    if (!(failure instanceof NotJudged)) {
      context.forgetCounts();
      throw failure;
    }
    const { need, message: reason } = failure;
    return { result: "not_judged", need, reason, exchanges: context.exchanges };
  } finally {
    context.close();
  }
}

const BASELINE: ConformanceDescription = {
  id: "baseline",
  level: "must",
  group: "acceptance",
  title: "a plain genuine delivery is acknowledged",
  why: "",
  fix: "",
};

/** Whether a receiver accepts a plain genuine delivery. If not, the other cases prove nothing. */
export class BaselineCheck {
  readonly #settings: ConformanceSettings;
  readonly #state: SuiteState;
  #isAccepted = false;
  #wasAnswered = false;
  #silence: string | undefined;
  #check: Promise<void> | undefined;

  constructor(settings: ConformanceSettings, state: SuiteState) {
    this.#settings = settings;
    this.#state = state;
  }

  /** Whether the delivery is acknowledged. Sent again for each call until it is. */
  async isAccepted(): Promise<boolean> {
    if (!this.#isAccepted) await this.#checkOnce();
    return this.#isAccepted;
  }

  /**
   * Why the delivery was not answered. Undefined when it was. Sent only once, since each request to a
   * receiver that does not answer takes the whole time-out.
   */
  async silence(): Promise<string | undefined> {
    if (!this.#wasAnswered && this.#silence === undefined) await this.#checkOnce();
    return this.#wasAnswered ? undefined : this.#silence;
  }

  /** Learns from the answers that the receiver gave to plain deliveries of another case. */
  learn(exchanges: readonly ConformanceExchange[]): void {
    this.#state.answerWatch.learn(exchanges);
    for (const { received } of exchanges) {
      if ("error" in received) this.#silence = received.error;
      else this.#wasAnswered = true;
    }
  }

  /** Cases that run at the same time share one check. */
  #checkOnce(): Promise<void> {
    this.#check ??= this.#send().finally(() => {
      this.#check = undefined;
    });
    return this.#check;
  }

  async #send(): Promise<void> {
    const check = async (context: CaseContext): Promise<void> => {
      const answer = await context.send(await context.deliver());
      this.#isAccepted = answer.result === "acknowledged";
    };
    const { exchanges } = await runCheck(BASELINE, this.#settings, this.#state, check);
    this.learn(exchanges);
  }
}
