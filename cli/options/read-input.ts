import { readFile } from "node:fs/promises";
import type { CommandIo } from "../terminal/command-io.js";
import { untilAborted, UsageError } from "../exit.js";
import { printableLine } from "../terminal/printable.js";

/** The bytes of a file, or of standard input for `-`. Throws `UsageError` if they cannot be read. */
export async function readInput(io: CommandIo, path: string): Promise<Uint8Array> {
  if (path === "-") {
    if (io.isStdinTTY) io.err.write("Reading standard input; Ctrl-D ends it.\n");
    return untilAborted(io.signal, io.readStdin());
  }
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(fileFault(path, error));
  }
}

/** The bytes of the file of an option. The error names no path: it may be a secret that was passed by mistake. */
export async function readSecretive(option: string, path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`--${option}: ${fileReason(error)}`);
  }
}

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  EISDIR: "it is a folder, not a file",
  ENOTDIR: "a part of the path is not a folder",
};

/** The reason why a file cannot be read or written, in one line. */
export function fileFault(path: string, error: unknown): string {
  return `${printableLine(path)}: ${fileReason(error)}`;
}

/** The same without the path, which may be a secret that was passed by mistake. */
export function fileReason(error: unknown): string {
  const { code = "unknown reason" } = Object(error) as { code?: unknown };
  return FAULTS[String(code)] ?? String(code);
}
