import { execFileSync } from "node:child_process";
import { cpus, loadavg } from "node:os";

/** Which Node, which machine and when, for the tables of a command. */
export function caption(command: string, node = process.versions.node, effort = ""): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? "unknown processor";
  const load = loadavg()[0]?.toFixed(1);
  const date = new Date().toISOString().slice(0, 10);
  return (
    `Node ${node}; ${model}, ${processors.length} cores, ${loopSeconds().toFixed(1)} s for 3·10^8 additions; ${date}; ` +
    `load average ${load} at the end; ${effort}npm run bench${command === "" ? "" : ` -- ${command}`}.`
  );
}

/**
 * How fast the machine runs JavaScript: seconds for a loop of 3·10^8 integer additions. In a process of its own, since the
 * same loop takes a tenth where the compiler knows it.
 */
function loopSeconds(): number {
  const loop = "let sum = 0; for (let count = 0; count < 3e8; count++) sum = (sum + count) | 0;";
  const start = performance.now();
  execFileSync(process.execPath, ["--eval", loop]);
  return (performance.now() - start) / 1_000;
}
