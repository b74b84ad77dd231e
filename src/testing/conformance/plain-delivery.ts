import type { ConformanceDescription, ConformanceExchange } from "./conformance-case.js";
import type { ConformanceSettings } from "./conformance-options.js";
import { withTrial } from "./trial.js";

/** How a receiver takes a plain genuine delivery, without which no other case says anything. */
export interface PlainDelivery {
  /** Whether it is acknowledged. Asked again only while it is not. */
  readonly isTaken: () => Promise<boolean>;
  /**
   * Why it was not answered; undefined where it was. Asked once: each request to a receiver that says
   * nothing takes as long as the time-out is.
   */
  readonly silence: () => Promise<string | undefined>;
  /** What the receiver answered to a plain delivery of a case of its own. */
  readonly learn: (exchanges: readonly ConformanceExchange[]) => void;
}

const QUESTION: ConformanceDescription = {
  id: "takes_genuine",
  level: "must",
  group: "handling",
  title: "a plain genuine delivery is acknowledged",
  why: "",
  mend: "",
};

const never = (): Promise<boolean> => Promise.resolve(false);

/** Asks the receiver of a suite. */
export function createPlainDelivery(settings: ConformanceSettings): PlainDelivery {
  let isTaken = false;
  let wasAnswered = false;
  let silence: string | undefined;
  let asking: Promise<void> | undefined;

  const learn: PlainDelivery["learn"] = (exchanges) => {
    for (const { received } of exchanges) {
      if ("error" in received) silence = received.error;
      else wasAnswered = true;
    }
  };

  const ask = async (): Promise<void> => {
    const { exchanges } = await withTrial(QUESTION, settings, never, async (trial) => {
      isTaken = (await trial.send(await trial.deliver())).verdict === "acknowledged";
    });
    learn(exchanges);
  };
  /** Cases that run at the same time ask together. */
  const askTogether = (): Promise<void> => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };

  return {
    learn,
    async isTaken() {
      if (!isTaken) await askTogether();
      return isTaken;
    },
    async silence() {
      if (!wasAnswered && silence === undefined) await askTogether();
      return wasAnswered ? undefined : silence;
    },
  };
}
