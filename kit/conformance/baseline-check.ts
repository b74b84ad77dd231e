import type { SuiteState } from "./case-context.js";
import type { ConformanceDescription, ConformanceExchange } from "./conformance-case.js";
import type { ConformanceSettings } from "./conformance-options.js";
import { runCheck } from "./run-check.js";

const BASELINE: ConformanceDescription = {
  id: "baseline",
  level: "must",
  group: "acceptance",
  title: "a plain genuine delivery is acknowledged",
  why: "",
  fix: "",
};

const never = (): Promise<boolean> => Promise.resolve(false);

/** Whether a receiver accepts a plain genuine delivery. If not, the other cases prove nothing. */
export class BaselineCheck {
  readonly #settings: ConformanceSettings;
  readonly #seen: Omit<SuiteState, "acceptsGenuine">;
  #isAccepted = false;
  #wasAnswered = false;
  #silence: string | undefined;
  #check: Promise<void> | undefined;

  constructor(settings: ConformanceSettings, seen: Omit<SuiteState, "acceptsGenuine">) {
    this.#settings = settings;
    this.#seen = seen;
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
    const state = { ...this.#seen, acceptsGenuine: never };
    const { exchanges } = await runCheck(BASELINE, this.#settings, state, async (context) => {
      const answer = await context.send(await context.deliver());
      this.#isAccepted = answer.result === "acknowledged";
    });
    this.learn(exchanges);
  }
}
