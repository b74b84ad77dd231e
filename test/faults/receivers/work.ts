import { setTimeout as wait } from "node:timers/promises";
import type { DeliveryContext } from "identity-gateway-webhooks";
import { createRandom } from "../../../src/testing/random.js";
import type { Ledger } from "./ledger.js";
import type { ReceiverConfig } from "./receiver-config.js";

/** What handlers know of a delivery, whatever the store. */
export type WorkContext = Pick<DeliveryContext, "id" | "signal" | "takeover">;

/** The work of a receiver's handlers. */
export interface Work {
  /** Handles one delivery; `makeEffect` makes what has to be there once. */
  readonly handle: (context: WorkContext, makeEffect?: () => unknown) => Promise<void>;
  /** From now on no run fails. */
  readonly heal: () => void;
}

const LONG_ONE_IN = 100;

/** Makes the work, which writes each of its steps into the ledger. */
export function createWork(
  { handler, failRate, seed }: Pick<ReceiverConfig, "handler" | "failRate" | "seed">,
  ledger: Ledger,
): Work {
  const random = createRandom(seed);
  let failing = failRate;
  let runs = 0;

  return {
    async handle({ id, signal, takeover }, makeEffect) {
      runs += 1;
      const run = runs;
      ledger.write({ kind: "start", id, run, takeover });
      signal.addEventListener("abort", () => {
        ledger.write({ kind: "lost", id, run });
      });
      const isLong = handler.longMs > 0 && random.below(LONG_ONE_IN) === 0;
      const isFailing = random.below(10_000) < failing * 10_000;
      const [beforeMs, afterMs] = [
        random.below(handler.maxMs + 1),
        random.below(handler.maxMs + 1),
      ];
      await pause(isLong ? handler.longMs : beforeMs);
      // Before its effect: a handler that fails behind it doubles it by itself.
      if (isFailing) {
        ledger.write({ kind: "failed", id, run });
        throw new Error("made up: the handler fails");
      }
      await makeEffect?.();
      ledger.write({ kind: "effect", id, run });
      await pause(afterMs);
      ledger.write({ kind: "end", id, run });
    },
    heal() {
      failing = 0;
    },
  };
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await wait(ms);
}
