import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { ReceiverConfig } from "../receivers/receiver-config.js";

/** A receiver in its own process. */
export type ReceiverProcess = ReturnType<typeof startReceiver>;

const KEPT_CHARACTERS = 2_000;

/** Starts the receiver's program. */
export function startReceiver(program: string, config: ReceiverConfig) {
  const child = spawn(process.execPath, ["--no-warnings", program, JSON.stringify(config)]);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-KEPT_CHARACTERS);
  });
  // Input for a killed process is lost.
  child.stdin.on("error", () => undefined);
  // Not `close`: the pipes of a killed process may never be read to their ends.
  const ended = once(child, "exit").then(
    ([code, signal]: unknown[]) =>
      `receiver ${config.receiver} ended by itself (${String(code ?? signal)}): ${errors}`,
  );
  const lines = createInterface({ input: child.stdout });
  const port = new Promise<number>((resolve, reject) => {
    lines.once("line", (line) => resolve(Number(line)));
    void ended.then((reason) => reject(new Error(reason)));
  });
  port.catch(() => undefined);
  return {
    /** Its port. Rejects if the process ends before it listens. */
    port,
    /** Resolves with its error output when it has ended. */
    ended,
    /** Whether SIGKILL has ended it. */
    isKilled: () => child.signalCode === "SIGKILL",
    signal: (name: "SIGKILL" | "SIGSTOP" | "SIGCONT") => child.kill(name),
    /** Makes its handlers stop failing. */
    heal: () => child.stdin.write("heal\n"),
    /** Makes it replay all dead jobs. Resolves when it has, or when the process has ended. */
    async replay() {
      const done = once(lines, "line");
      child.stdin.write("replay\n");
      await Promise.race([done, ended]);
    },
    /** Makes its wall clock jump. */
    jump: (ms: number) => child.stdin.write(`jump ${ms}\n`),
  };
}
