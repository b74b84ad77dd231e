import { createRequire } from "node:module";
import { inspect } from "node:util";
import { ConfigurationError } from "../src/common/errors.js";
import { CaptureError } from "../kit/diagnosis/captured-request.js";
import { FixtureError } from "../kit/fixtures/fixture.js";
import type { Command } from "./command.js";
import type { CommandIo, Output } from "./terminal/command-io.js";
import { doctor } from "./commands/doctor.js";
import { explain } from "./commands/explain.js";
import { gateway } from "./commands/gateway.js";
import { init } from "./commands/init.js";
import { jobs } from "./commands/jobs.js";
import { listen } from "./commands/listen.js";
import { replay } from "./commands/replay.js";
import { send } from "./commands/send.js";
import { webhooks } from "./commands/webhooks.js";
import { EXIT, Interruption, UsageError } from "./exit.js";
import { PROGRAM, columnsOf } from "./help-text.js";
import { shownOption } from "./options/arguments.js";
import { hintOf } from "./options/nearest-name.js";
import { printableLine } from "./terminal/printable.js";

const COMMANDS: readonly Command[] = [
  init,
  send,
  replay,
  doctor,
  listen,
  explain,
  webhooks,
  jobs,
  gateway,
];

/** How long a command may take to close its servers and files after an interruption. */
const CLOSING_MS = 3_000;

/** Runs the command that the arguments name. Resolves to the exit code. Never rejects. */
export async function runCommandLine(
  argv: readonly string[],
  io: CommandIo,
  commands = COMMANDS,
): Promise<number> {
  const [first = "", ...rest] = argv;
  const command = commands.find(({ name }) => name === first);
  try {
    const code = await Promise.race([
      command?.start(io, rest) ?? general(first, rest, io, commands),
      afterClosing(io.signal),
    ]);
    io.signal.throwIfAborted();
    return code;
  } catch (error) {
    return failed(error, command?.name, io);
  }
}

/** Runs `help`, `--help` and `--version`, and refuses an unknown command. */
function general(
  first: string,
  rest: readonly string[],
  { out, err }: CommandIo,
  commands: readonly Command[],
): number {
  switch (first) {
    case "--version":
    case "-V":
      out.write(`${readVersion()}\n`);
      return EXIT.passed;
    case "--help":
    case "-h":
    case "help": {
      const [name, word] = rest;
      const command = name === undefined ? undefined : commandOf(name, commands);
      const named = word === undefined ? command : (command?.commandOf?.(word) ?? command);
      out.write(named?.help(out) ?? overview(out, commands));
      return EXIT.passed;
    }
    case "":
      err.write(overview(err, commands));
      return EXIT.wrongUsage;
    default:
      throw unknownCommand(first, commands);
  }
}

function commandOf(name: string, commands: readonly Command[]): Command {
  const command = commands.find((one) => one.name === name);
  if (command === undefined) throw unknownCommand(name, commands);
  return command;
}

function unknownCommand(name: string, commands: readonly Command[]): UsageError {
  if (name.startsWith("-")) {
    return new UsageError(`the command comes first, then ${shownOption(name)}`);
  }
  const names = [...commands.map((command) => command.name), "help"];
  const hint = hintOf(name, names);
  // The message repeats the name only when it resembles a command: it may be a secret without its option.
  return new UsageError(
    hint === ""
      ? `unknown command; the commands are ${names.join(", ")}`
      : `unknown command ${name}${hint}`,
  );
}

function overview({ style, columns = 80 }: Output, commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  return [
    `${style("bold", PROGRAM)}: a stand-in for the gateway's sender, on your machine`,
    "",
    `Usage: ${PROGRAM} <command> [options]`,
    "",
    ...columnsOf([...rows, ["help <command>", "the options of a command, with examples"]], columns),
    "",
    "Exit codes: 0 passed, 1 a check failed, 2 wrong usage, 4 no gateway to ask.",
    "",
  ].join("\n");
}

/** The version of this package. Its own name resolves from the sources and from the build. */
function readVersion(): string {
  const load = createRequire(import.meta.url);
  const { version } = load("identity-gateway-webhooks/package.json") as { version: string };
  return version;
}

function failed(error: unknown, command: string | undefined, { err, signal }: CommandIo): number {
  const reason: unknown = signal.reason;
  if (signal.aborted && reason instanceof Interruption) return reason.exitCode;
  const where = command === undefined ? PROGRAM : `${PROGRAM} ${command}`;
  if (isWrongUsage(error)) {
    err.write(`${err.style("red", where)}: ${printableLine(error.message, 4_000)}\n`);
    return EXIT.wrongUsage;
  }
  const details = inspect(error, { depth: 0 });
  err.write(`${err.style("red", where)}: a bug in this program, please report it\n${details}\n`);
  return EXIT.bug;
}

/** Whether the caller can fix it: an option, a secret, a file. */
function isWrongUsage(error: unknown): error is Error {
  return (
    error instanceof UsageError ||
    error instanceof ConfigurationError ||
    error instanceof FixtureError ||
    error instanceof CaptureError
  );
}

/** Rejects when an interrupted command does not end by itself. */
function afterClosing(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const wait = (): void => {
      setTimeout(() => reject(signal.reason as Error), CLOSING_MS).unref();
    };
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
}
