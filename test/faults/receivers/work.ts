import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { DeliveryContext, WebhookReceiver } from "identity-gateway-webhooks";
import { createRandom } from "../../../kit/random.js";
import type { Flaw } from "../plan/flawed-receivers.js";
import type { Ledger } from "./ledger.js";
import type { ReceiverConfig } from "./receiver-config.js";

/** The part of a handler's context that every store has. */
export type WorkContext = Pick<DeliveryContext, "id" | "signal" | "takeover">;

/** The work of a receiver's handlers. */
export interface Work {
  /** Handles one delivery. `makeEffect` makes the effect that must exist once. */
  readonly handle: (context: WorkContext, makeEffect?: () => unknown) => Promise<void>;
  /** From now on no run fails. */
  readonly heal: () => void;
}

/** What a handler returns. With one flaw the receiver answers before it handles. */
export function returned(
  handled: Promise<void>,
  flaw: Flaw | undefined,
): Promise<void> | undefined {
  if (flaw !== "answers before it handles") return handled;
  handled.catch(() => undefined);
  return undefined;
}

/** What each file of setups/ exports. */
export type MakeReceiver = (
  config: ReceiverConfig,
  ledger: Ledger,
  work: Work,
) => WebhookReceiver | Promise<WebhookReceiver>;

const LONG_ONE_IN = 100;

/** Whether this is the first run, in any process, of a delivery whose first run never settles. */
function isStuck(id: string, { handler, ledgerFile }: WorkConfig): boolean {
  const { stuckOneIn = 0 } = handler;
  // Of the end of the id: each made-up one begins with the same characters.
  if (stuckOneIn === 0 || Number.parseInt(id.slice(-8), 16) % stuckOneIn !== 0) return false;
  try {
    writeFileSync(join(dirname(ledgerFile), `stuck-${id}`), "", { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}

/** Whether this delivery is one of those that kill each process that handles them: the first ones that any has. */
function isKilling(id: string, { handler: { killing = 0 }, ledgerFile }: WorkConfig): boolean {
  return Array.from({ length: killing }, (_, n) => join(dirname(ledgerFile), `killing-${n}`)).some(
    (file) => {
      try {
        writeFileSync(file, id, { flag: "wx" });
        return true;
      } catch {
        return readFileSync(file, "utf8") === id;
      }
    },
  );
}

type WorkConfig = Pick<ReceiverConfig, "handler" | "failRate" | "seed" | "ledgerFile">;

/** Makes the work. It records each step in the ledger. */
export function createWork(config: WorkConfig, ledger: Ledger): Work {
  const { handler, failRate, seed } = config;
  const random = createRandom(seed);
  let failing = failRate;
  let runs = 0;

  return {
    async handle({ id, signal, takeover }, makeEffect) {
      runs += 1;
      const run = runs;
      ledger.write({ kind: "start", id, run, takeover });
      signal.addEventListener("abort", () => ledger.write({ kind: "lost", id, run }));
      if (isKilling(id, config)) {
        ledger.write({ kind: "crash", id, run });
        process.kill(process.pid, "SIGKILL");
      }
      if (isStuck(id, config)) {
        ledger.write({ kind: "stuck", id, run });
        await new Promise(() => undefined);
      }
      const isLong = handler.longMs > 0 && random.below(LONG_ONE_IN) === 0;
      const isFailing = random.below(10_000) < failing * 10_000;
      const [beforeMs, afterMs] = [
        random.below(handler.maxMs + 1),
        random.below(handler.maxMs + 1),
      ];
      await pause(isLong ? handler.longMs : beforeMs);
      // Fails before its effect: a failure after the effect would cause a double on its own.
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
