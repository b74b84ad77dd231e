import {
  createStyle,
  wantsColour,
  type CommandIo,
  type Output,
} from "../../../cli/terminal/command-io.js";
import { expect, onTestFinished } from "vitest";
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
export type RunningCommand = ReturnType<typeof startCommand>;

/** The result of a command. */
export interface EndedCommand {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command, which ends with its test. The environment has the test secret and nothing else. */
export function startCommand(argv: readonly string[], world: TestWorld = {}) {
  const { isTTY = false, columns = 100, stdin = "" } = world;
  const env = { GATEWAY_WEBHOOK_SECRET: TEST_SECRET, ...world.env };
  const lines = stdin.toString().split("\n");
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
    readLine: () => Promise.resolve(lines.shift() ?? ""),
    isStdinTTY: isTTY,
    env,
    signal: abort.signal,
  };
  const exitCode = runCommandLine(argv, io);
  const interrupt = () => abort.abort(new Interruption(130, "SIGINT"));
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
    /** Resolves when standard output matches. */
    async says(pattern: RegExp) {
      await eventually(() => written.out).toMatch(pattern);
      return pattern.exec(written.out) ?? [];
    },
    /** Ctrl-C. */
    interrupt,
    /** Ctrl-C, and waits for the end. */
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

/** Asserts how a command ends. Its output contains a given text, or is empty if that is "". */
export async function expectEnd(
  ending: Promise<EndedCommand>,
  expected: Partial<EndedCommand>,
): Promise<EndedCommand> {
  const ended = await ending;
  const parts = Object.entries(expected).map(([name, value]: [string, number | string]) => {
    const isText = typeof value === "string" && value !== "";
    return [name, isText ? (expect.stringContaining(value) as string) : value] as const;
  });
  expect(ended).toMatchObject(Object.fromEntries(parts));
  return ended;
}
