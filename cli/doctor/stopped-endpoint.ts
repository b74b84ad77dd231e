import { setTimeout as wait } from "node:timers/promises";
import {
  ConformanceFailure,
  type ConformanceCase,
  type ConformanceExchange,
} from "../../kit/conformance/conformance-case.js";
import type { SenderOptions } from "../../kit/sending/target.js";
import type { DoctorPlan } from "./doctor-options.js";
import { shownUrl } from "../options/target-url.js";
import { connectionFault } from "../send/connection-fault.js";
import { errorCodes, type Obstacle } from "./preflight.js";

/** A supervisor may start a process again that has crashed. */
const TRIES = 4;
const PAUSE_MS = 250;

/** Watches the endpoint while its cases run: they end as soon as nothing listens there any more. */
export function watchEndpoint({ url, cases, connection }: DoctorPlan, signal: AbortSignal) {
  let obstacle: Obstacle | undefined;
  const running = new Set<string>();
  const notJudged = (reason: string, exchanges: readonly ConformanceExchange[]) => ({
    result: "not_judged" as const,
    need: "accepted_delivery" as const,
    reason,
    exchanges,
  });

  const run = async (one: ConformanceCase): ReturnType<ConformanceCase["run"]> => {
    if (obstacle !== undefined) return notJudged(obstacle.message, []);
    running.add(one.id);
    const end = await one.run().catch((error: unknown) => {
      if (error instanceof ConformanceFailure) return error;
      throw error;
    });
    const meanwhile = [...running];
    running.delete(one.id);
    const { exchanges } = end;
    const isPassed = !(end instanceof ConformanceFailure) && end.result === "passed";
    const isSuspect = !isPassed || exchanges.some(({ received }) => "error" in received);
    if (isSuspect && (await isRefused(url, connection, signal))) {
      obstacle ??= {
        code: "stopped",
        message: `the endpoint stopped answering during ${meanwhile.join(" or ")}: nothing listens at ${shownUrl(url)} any more`,
        fix: `Look into the log of the endpoint for why it ended. Start it again, and repeat with --concurrency 1${meanwhile.map((id) => ` --only ${id}`).join("")}.`,
      };
      return notJudged(obstacle.message, exchanges);
    }
    if (end instanceof ConformanceFailure) throw end;
    return end;
  };

  return {
    cases: cases.map((one) => ({ ...one, run: () => run(one) })),
    /** The finding, once the endpoint has stopped. From then on no case is judged. */
    stopped: () => obstacle,
  };
}

async function isRefused(url: URL, connection: SenderOptions, signal: AbortSignal) {
  for (let tries = 1; ; tries++) {
    const fault = await connectionFault(url, connection, signal);
    if (!errorCodes(fault).includes("ECONNREFUSED")) return false;
    if (tries === TRIES || signal.aborted) return true;
    await wait(PAUSE_MS);
  }
}
