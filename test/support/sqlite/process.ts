import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type SqliteRuntime } from "./runtimes.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A process of its own that runs one of the `*-child.ts` scripts. */
export type SqliteProcess = ReturnType<typeof startSqliteProcess>;

/** How a script is started. */
export interface SqliteProcessOptions {
  /** The largest file that it can write, in bytes. Imitates a full disk. */
  readonly maxFileBytes?: number;
}

/** Starts a script with the runtime's driver as its first argument. */
export function startSqliteProcess(
  { node, driver }: SqliteRuntime,
  script: string,
  args: readonly string[],
  { maxFileBytes }: SqliteProcessOptions = {},
) {
  const command = [
    node,
    "--no-warnings",
    "--import",
    "tsx",
    `test/support/sqlite/${script}`,
    driver,
    ...args,
  ];
  // Without the trap the signal ends the process; ignored, the write fails.
  const limit = `trap '' XFSZ; ulimit -f ${(maxFileBytes ?? 0) / 1024}; exec "$@"`;
  const [file, ...rest] =
    maxFileBytes === undefined ? command : ["bash", "-c", limit, "-", ...command];
  const child = spawn(file ?? node, rest, { cwd: ROOT, stdio: ["pipe", "pipe", "pipe"] });

  const lines: string[] = [];
  const readers: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  let errors = "";
  let taken = 0;
  let isClosed = false;
  const failed = () => new Error(`${script} ended: ${errors}`);

  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    const reader = readers.shift();
    if (reader === undefined) return;
    taken += 1;
    reader.resolve(line);
  });
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  // Input for a killed process is lost, as intended.
  child.stdin.on("error", () => undefined);
  const closed = once(child, "close").then(([code]: (number | null)[]) => {
    isClosed = true;
    for (const reader of readers.splice(0)) reader.reject(failed());
    return code ?? null;
  });

  return {
    /** Every line that it wrote so far. */
    lines,
    /** The next line that it writes. Rejects with its standard error if it ends before. */
    line() {
      const line = lines[taken];
      if (line !== undefined) {
        taken += 1;
        return Promise.resolve(line);
      }
      if (isClosed) return Promise.reject(failed());
      return new Promise<string>((resolve, reject) => {
        readers.push({ resolve, reject });
      });
    },
    send(line: string) {
      child.stdin.write(`${line}\n`);
    },
    /** Kills it without warning, and waits until all its output is read. */
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
    /** Resolves with its exit code when it has ended by itself and all is read. */
    ended: closed.then((code) => {
      if (code !== 0 && code !== null) throw failed();
      return code;
    }),
  };
}
