import { openSync, writeSync } from "node:fs";
import type { LedgerEvent } from "../checker/ledger-line.js";
import { now } from "../harness/clock.js";

/** What a receiver writes down of itself, outside of its store. */
export interface Ledger {
  /** Has been handed to the operating system when it returns: SIGKILL does not take it back. */
  readonly write: (event: LedgerEvent) => void;
}

/** Opens the ledger of a process. */
export function openLedger(file: string, receiver: number): Ledger {
  const descriptor = openSync(file, "a");
  return {
    write(event) {
      writeSync(descriptor, `${JSON.stringify({ receiver, at: now(), ...event })}\n`);
    },
  };
}

const BEAT_MS = 50;

/** Writes down when the process has stood still, be it stopped or starved of time. */
export function watchStalls(ledger: Ledger, leastMs: number): void {
  let last = now();
  setInterval(() => {
    const at = now();
    const ms = at - last - BEAT_MS;
    if (ms >= leastMs) ledger.write({ kind: "stall", ms });
    last = at;
  }, BEAT_MS).unref();
}
