import { setMaxListeners } from "node:events";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { isatty } from "node:tty";
import { createStyle, wantsColour, type CommandIo, type Output } from "./command-io.js";
import { EXIT, Interruption } from "../exit.js";

/** Exit codes after a signal: 128 plus its number. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;
const BROKEN_PIPE = 141;

/** The streams and signals of this process. Ctrl-C asks the command to end; a second Ctrl-C ends it at once. */
export function createProcessIo(): CommandIo {
  const abort = new AbortController();
  // `send --times 100 --concurrent` waits a hundred times. Node would warn of a leak from eleven on.
  setMaxListeners(0, abort.signal);
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (abort.signal.aborted) process.exit(exitCode);
      abort.abort(new Interruption(exitCode, name));
    });
  }
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    // The reader has closed the pipe, as `| head` does. That is no error, and there is nothing left to do.
    const isClosed = code === "EPIPE";
    if (!isClosed && !abort.signal.aborted) process.stderr.write(`standard output: ${message}\n`);
    abort.abort(new Interruption(isClosed ? BROKEN_PIPE : EXIT.failed, message));
  });
  process.stderr.on("error", () => undefined);
  return {
    out: outputOf(process.stdout),
    err: outputOf(process.stderr),
    readStdin: () => buffer(process.stdin),
    readLine,
    isStdinTTY: isatty(0),
    env: process.env,
    signal: abort.signal,
  };
}

async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  return "";
}

/** Resolves when both streams are flushed or closed. */
export async function flushed(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) =>
        new Promise<void>((resolve) => {
          stream.write("", () => resolve());
        }),
    ),
  );
}

function outputOf(stream: NodeJS.WriteStream): Output {
  // Despite its type, it is undefined when the stream is no terminal.
  const isTTY = (stream.isTTY as boolean | undefined) ?? false;
  return {
    write: (text) => stream.write(text),
    isTTY,
    get columns() {
      // Some pseudo-terminals report 0.
      return isTTY && stream.columns > 0 ? stream.columns : undefined;
    },
    style: createStyle(wantsColour(isTTY, process.env)),
  };
}
