import { readFile } from "node:fs/promises";
import type { CommandIo } from "../terminal/command-io.js";
import { untilAborted, UsageError } from "../exit.js";
import { printableLine } from "../terminal/printable.js";

/** The bytes of a file, or of standard input for `-`. Throws `UsageError` where it cannot be read. */
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

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "permission denied",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is no folder",
};

/** Why a file cannot be read or written, in one line. */
export function fileFault(path: string, error: unknown): string {
  return `${printableLine(path)}: ${fileReason(error)}`;
}

/** The same without its path, which may be a secret that was given for it. */
export function fileReason(error: unknown): string {
  const { code = "no reason is given" } = Object(error) as { code?: unknown };
  return FAULTS[String(code)] ?? String(code);
}
