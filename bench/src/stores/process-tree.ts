import { readFileSync, readdirSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second. */
const TICK_US = 10_000;

/** The processes that `pid` has started and that still run. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1")
        .split(" ")
        .filter((text) => text.trim() !== "")
        .map(Number),
    );
  } catch {
    // The process has ended, or this is not Linux.
    return [];
  }
}

/** `pid` and all processes below it. */
export function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** CPU time that these processes and those below them have used, ended ones included. Microseconds. */
export function cpuOfTrees(roots: readonly number[]): number {
  return roots.flatMap(treeOf).reduce((sum, pid) => sum + cpuOf(pid), 0);
}

function cpuOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the name in brackets, and may contain spaces. 14 to 17 are utime, stime, cutime, cstime.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_US;
  } catch {
    return 0;
  }
}
