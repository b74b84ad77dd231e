import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const hasStrace = spawnSync("strace", ["-V"]).status === 0;

/**
 * How often the process syncs a file to the disk during `work`, counted by strace. Undefined without
 * strace. It slows the process down, so no time is measured meanwhile.
 */
export async function tracedSyncs(
  pid: number,
  work: () => Promise<unknown>,
): Promise<number | undefined> {
  if (!hasStrace) {
    await work();
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "bench-strace-"));
  const report = join(folder, "syncs");
  const strace = spawn(
    "strace",
    ["-f", "-e", "trace=fsync,fdatasync", "-e", "signal=none", "-o", report, "-p", String(pid)],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const ended = once(strace, "exit");
  try {
    // It says so on standard error once it is attached.
    await Promise.race([once(strace.stderr, "data"), ended]);
    await work();
  } finally {
    strace.kill("SIGINT");
    await ended;
  }
  const calls = readFileSync(report, "latin1").match(/(?:fsync|fdatasync)\(/g) ?? [];
  rmSync(folder, { recursive: true });
  return calls.length;
}
