import type { LedgerEvent } from "../checker/history.js";
import { openSync, writeSync } from "node:fs";
import { now } from "../harness/clock.js";

/** The records of a receiver, outside its store. */
export type Ledger = ReturnType<typeof openLedger>;

/** Opens the ledger of a process. */
export function openLedger(file: string, receiver: number) {
  const descriptor = openSync(file, "a");
  return {
    /** Writes a line. When it returns, the operating system has the line, so it survives SIGKILL. */
    write(event: LedgerEvent) {
      writeSync(descriptor, `${JSON.stringify({ receiver, at: now(), ...event })}\n`);
    },
  };
}

const BEAT_MS = 50;

/** Records each pause of the process, whether it was stopped or got no processor time. */
export function watchStalls(ledger: Ledger, leastMs: number): void {
  let last = now();
  setInterval(() => {
    const at = now();
    const ms = at - last - BEAT_MS;
    if (ms >= leastMs) ledger.write({ kind: "stall", ms });
    last = at;
  }, BEAT_MS).unref();
}
