import {
  createStyle,
  wantsColour,
  type CommandIo,
  type Output,
} from "../../../cli/terminal/command-io.js";
import { onTestFinished } from "vitest";
import { Interruption } from "../../../cli/exit.js";
import { runCommandLine } from "../../../cli/run-command-line.js";
import { eventually } from "../listening-receiver.js";
import { TEST_SECRET } from "../deliveries.js";

/** The environment of a command in a test. */
export interface TestWorld {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string | Uint8Array;
  /** Whether all three streams are a terminal. */
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** A command that runs in this process. */
export interface RunningCommand {
  readonly exitCode: Promise<number>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves when standard output matches. */
  readonly says: (pattern: RegExp) => Promise<readonly string[]>;
  /** Ctrl-C. */
  readonly interrupt: () => void;
  /** Ctrl-C, and waits for the end. */
  readonly stop: () => Promise<unknown>;
}

/** The result of a command. */
export interface EndedCommand {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command, which ends with its test. The environment has the test secret and nothing else. */
export function startCommand(argv: readonly string[], world: TestWorld = {}): RunningCommand {
  const { isTTY = false, columns = 100, stdin = "" } = world;
  const env = { GATEWAY_WEBHOOK_SECRET: TEST_SECRET, ...world.env };
  const abort = new AbortController();
  const written = { out: "", err: "" };
  const output = (name: keyof typeof written): Output => ({
    write: (text) => {
      written[name] += text;
    },
    isTTY,
    columns: isTTY ? columns : undefined,
    style: createStyle(wantsColour(isTTY, env)),
  });
  const io: CommandIo = {
    out: output("out"),
    err: output("err"),
    readStdin: () => Promise.resolve(Buffer.from(stdin)),
    isStdinTTY: isTTY,
    env,
    signal: abort.signal,
  };
  const exitCode = runCommandLine(argv, io);
  const interrupt = () => {
    abort.abort(new Interruption(130, "SIGINT"));
  };
  const stop = () => {
    interrupt();
    return exitCode;
  };
  onTestFinished(async () => {
    await stop();
  });
  return {
    exitCode,
    stdout: () => written.out,
    stderr: () => written.err,
    async says(pattern) {
      await eventually(() => written.out).toMatch(pattern);
      return pattern.exec(written.out) ?? [];
    },
    interrupt,
    stop,
  };
}

/** Runs a command to its end. A text is split at its blanks. */
export async function runCommand(
  argv: string | readonly string[],
  world: TestWorld = {},
): Promise<EndedCommand> {
  const command = startCommand(typeof argv === "string" ? argv.split(" ") : argv, world);
  const code = await command.exitCode;
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}
