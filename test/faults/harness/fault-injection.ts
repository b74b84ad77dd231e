import { setTimeout as wait } from "node:timers/promises";
import type { Interruption } from "../checker/history.js";
import { NO_FAULTS, type FaultCounts } from "../plan/mode.js";
import type { PlannedFault } from "../plan/schedule.js";
import { now } from "./clock.js";
import type { Fleet } from "./fleet.js";
import type { StoreServer } from "../stores/store-server.js";
import type { TcpProxy } from "./tcp-proxy.js";

/** The targets of the faults. */
export interface FaultTargets {
  readonly fleet: Fleet;
  /** Undefined if the store is a file. */
  readonly proxy: TcpProxy | undefined;
  readonly store: StoreServer;
  /** Resolves at a time of the plan, in milliseconds. */
  readonly reached: (at: number) => Promise<void>;
}

const LATENCY_MS = 200;
/** How far a replica is behind at most while nothing holds it back, also on a slow machine. */
const LAG_MS = 500;

/** Injects the planned faults, each at its time. Resolves when the last one is over. */
export async function injectFaults(
  plan: readonly PlannedFault[],
  { fleet, proxy, store, reached }: FaultTargets,
) {
  const counts: Record<keyof FaultCounts, number> = { ...NO_FAULTS };
  /** Faults of the store. */
  const interruptions: Interruption[] = [];

  let restarted = Promise.resolve(true);

  const toStore = async (work: () => Promise<void>) => {
    const from = now();
    await work();
    interruptions.push({ kind: "store", from, to: now() });
    return true;
  };
  const during = (ms: number, turn: ((isOn: boolean) => void) | undefined): Promise<boolean> =>
    toStore(async () => {
      turn?.(true);
      await wait(ms);
      turn?.(false);
    });

  const make = async ({ kind: fault, lastsMs, slot }: PlannedFault) => {
    switch (fault) {
      case "kills":
        return fleet.kill(slot, lastsMs);
      case "stops":
        return fleet.stop(slot, lastsMs);
      case "restarts":
        // On a slow machine a start may take until the next restart: a server that starts cannot be started again.
        restarted = restarted.then(() => toStore(() => store.restart(lastsMs)));
        return restarted;
      case "locks":
        return toStore(() => store.lock(lastsMs));
      case "rowLocks":
        return toStore(() => store.lockRows(lastsMs));
      case "endings":
        return toStore(() => store.endConnections(lastsMs));
      case "freezes":
        return toStore(() => store.freeze(lastsMs));
      case "readOnlys":
        return toStore(() => store.refuseWrites(lastsMs));
      case "fulls":
        return toStore(() => store.fill(lastsMs));
      case "jumps":
        return fleet.jump(slot, slot % 2 === 0 ? lastsMs : -lastsMs);
      case "replays":
        return fleet.replay(slot);
      case "failovers": {
        const from = now();
        const { port, isComplete } = await store.failOver(lastsMs);
        proxy?.redirect(port);
        const kind = isComplete ? "store" : "forgot";
        interruptions.push({ kind, from: from - LAG_MS, to: now() });
        return true;
      }
      case "cuts":
        return toStore(() => {
          proxy?.cut();
          return Promise.resolve();
        });
      case "blackHoles":
        return during(lastsMs, proxy?.setBlackHole);
      case "holds":
        return during(lastsMs, proxy?.setHeld);
      case "lostAnswers":
        return during(lastsMs, proxy?.setAnswersLost);
      case "latencies":
        return during(lastsMs, (isOn) => proxy?.setLatencyMs(isOn ? LATENCY_MS : 0));
    }
  };

  await Promise.all(
    plan.map(async (fault) => {
      await reached(fault.at);
      if (await make(fault)) counts[fault.kind] += 1;
    }),
  );
  return { counts, interruptions };
}
