import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ENGINES } from "../engines.js";
import { check } from "./checker/check.js";
import type { Delivery, History, LedgerLine } from "./checker/history.js";
import { injectFaults } from "./harness/fault-injection.js";
import { type Fleet, startFleet } from "./harness/fleet.js";
import { startTcpProxy } from "./harness/tcp-proxy.js";
import { startTraffic } from "./harness/traffic.js";
import type { Mode } from "./plan/mode.js";
import { planFaults } from "./plan/schedule.js";
import type { ReceiverConfig } from "./receivers/receiver-config.js";
import type { StoreContent, StoreServer } from "./stores/store-server.js";

/** The lines of all ledgers in a folder. */
function readLedgers(folder: string): readonly LedgerLine[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => {
      // Text after the last line break was cut off by a SIGKILL.
      const lines = readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
      return lines.map((line) => JSON.parse(line) as LedgerLine);
    });
}

/** Durations of the parts of a mode's run. Milliseconds. */
export interface RunTimes {
  /** Time before the faults: only redeliveries, forgeries and failing handlers. */
  readonly calmMs: number;
  readonly faultsMs: number;
  /** Time limit of the sender and of the queue's workers after the last fault. */
  readonly healMs: number;
}

/** Result of one mode. */
export type ModeResult = Awaited<ReturnType<typeof runMode>>;

const SECRET = "whsec_test_of_the_fault_run";
const HOUR_MS = 3_600_000;
/** Clock error of each receiver: one is ahead and one is behind. */
const CLOCKS_OFF_MS = [0, HOUR_MS, 0, -HOUR_MS];
const FAIL_RATE = 0.1;
const READ_AGAIN_MS = 200;
/** A second job of a dead delivery is in no list while a worker has it. It is back in one before its claim has ended. */
const MOST_EMPTY_READS = 20;

/** Parts of a run. */
export interface ModeRun {
  readonly mode: Mode;
  /** Path of the receivers' program. */
  readonly program: string;
  /** Folder for all files of the run. It must exist and is not removed. */
  readonly folder: string;
  readonly times: RunTimes;
  readonly seed: number;
  /** Ends the run. The run then rejects after everything is cleaned up. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs one mode. Leaves no process behind. */
export async function runMode({ mode, program, folder, times, seed, signal }: ModeRun) {
  const startedAt = performance.now();
  const { calmMs } = times;
  const { faultsMs = times.faultsMs, healMs = times.healMs } = mode;
  const databaseFile = join(folder, "store.sqlite");
  const ledgers = join(folder, "ledgers");
  mkdirSync(ledgers);
  const closing: (() => Promise<void>)[] = [];
  const over = new AbortController();
  try {
    const store = await ENGINES[mode.engine]?.startForFaults?.(mode, databaseFile);
    if (store === undefined) throw new Error(`${mode.engine} has no server for faults`);
    closing.unshift(store.close);
    const proxy = store.port === 0 ? undefined : await startTcpProxy(store.port);
    if (proxy !== undefined) closing.unshift(proxy.close);
    const configOf = (receiver: number, slot: number): ReceiverConfig => ({
      failRate: FAIL_RATE,
      ...mode,
      receiver,
      clockOffMs: mode.clocksAgree === true ? 0 : (CLOCKS_OFF_MS[slot] ?? 0),
      port: proxy?.port ?? 0,
      databaseFile,
      ledgerFile: join(ledgers, `receiver-${receiver}.jsonl`),
      secret: SECRET,
      seed: seed + receiver,
    });
    const fleet = await startFleet(program, configOf, mode.receivers);
    closing.unshift(fleet.close);

    const spreadMs = calmMs + faultsMs;
    const traffic = startTraffic(fleet, {
      deliveries: mode.deliveries,
      spreadMs,
      secret: SECRET,
      seed,
      own: mode.traffic ?? {},
    });
    closing.unshift(traffic.close);
    const live = async () => {
      const injected = await injectFaults(planFaults(mode, faultsMs, seed), {
        fleet,
        proxy,
        store,
        // Paced by the traffic and not by the clock, so that a slow machine gets the same faults.
        reached: (at) => traffic.begun((calmMs + at) / spreadMs),
      });
      await traffic.begun(1);
      await fleet.heal();
      await Promise.race([traffic.ended, wait(healMs, undefined, { ref: false })]);
      await traffic.close();
      return {
        injected,
        content: await settledContent(store, mode, fleet, traffic.deliveries, healMs),
      };
    };
    const { injected, content } = await Promise.race([live(), aborted(signal, over.signal)]);
    await fleet.close();

    const { deliveries, forgedAnswers, forgedIds, requests, judgedId } = traffic;
    const history: History = {
      guarantee: mode.guarantee,
      holdMs: mode.holdMs,
      deliveries,
      forgedAnswers,
      forgedIds,
      answers: traffic.answers.map((answer) => ({ ...answer, id: judgedId(answer.id) })),
      lines: readLedgers(ledgers).map((line) =>
        "id" in line ? { ...line, id: judgedId(line.id) } : line,
      ),
      interruptions: [...fleet.interruptions, ...injected.interruptions],
      storedIds: content.storedIds,
      exactIds: content.exactIds,
      unfinishedIds: content.unfinishedIds ?? [],
      deadIds: content.deadIds ?? [],
      limits: mode.limits ?? {},
      mostConnections: store.mostConnections(),
      unexpectedExits: fleet.unexpectedExits,
    };
    return {
      mode,
      checked: check(history),
      deliveries: deliveries.length,
      acknowledged: deliveries.filter(({ end }) => end === "acknowledged").length,
      requests: requests(),
      forgeries: forgedIds.size,
      /** As in `History`. */
      mostConnections: history.mostConnections,
      faults: { ...injected.counts, kills: countKills(fleet) },
      ms: performance.now() - startedAt,
    };
  } finally {
    over.abort();
    for (const close of closing) await close();
  }
}

/** The content of the store after its workers have finished, or have finished no job for `healMs`. */
async function settledContent(
  store: StoreServer,
  { handler, faults }: Mode,
  fleet: Fleet,
  deliveries: readonly Delivery[],
  healMs: number,
): Promise<StoreContent> {
  let deadline = performance.now() + healMs;
  let fewest = Infinity;
  let emptyReads = 0;
  for (;;) {
    if (faults.replays > 0) await fleet.replay(0);
    const { unfinishedIds: waiting = [], deadIds = [], ...read } = await store.read();
    // Only a job that kills its workers may be dead in the end.
    const unfinishedIds = handler.killing === undefined ? [...waiting, ...deadIds] : waiting;
    const content = { ...read, unfinishedIds, deadIds };
    // On its way from the dead jobs to a worker, a job is in no list.
    const stored = new Set(content.storedIds);
    const isAway = ({ id, end }: Delivery) => end === "acknowledged" && !stored.has(id);
    const away = faults.replays > 0 ? deliveries.filter(isAway).length : 0;
    const unfinished = unfinishedIds.length + away;
    emptyReads = unfinished === 0 ? emptyReads + 1 : 0;
    const isSettled = emptyReads >= (handler.killing === undefined ? 1 : MOST_EMPTY_READS);
    if (isSettled || performance.now() > deadline) return content;
    if (unfinished < fewest) deadline = performance.now() + healMs;
    fewest = Math.min(fewest, unfinished);
    await wait(READ_AGAIN_MS);
  }
}

/** Rejects when `signal` aborts. Stops listening when `over` aborts. */
function aborted(signal: AbortSignal | undefined, over: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = () => reject(new Error("the run was ended"));
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end, { signal: over });
  });
}

function countKills({ interruptions }: Fleet): number {
  return interruptions.filter(({ kind }) => kind === "kill").length;
}
