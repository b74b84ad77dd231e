import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LedgerLine } from "../checker/ledger-line.js";

/** Path of the ledger of a process. */
export function ledgerFile(folder: string, receiver: number): string {
  return join(folder, `receiver-${receiver}.jsonl`);
}

/** The lines of all ledgers in a folder. */
export function readLedgers(folder: string): readonly LedgerLine[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => {
      // Text after the last line break was cut off by a SIGKILL.
      const lines = readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
      return lines.map((line) => JSON.parse(line) as LedgerLine);
    });
}
