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
type EndedCommand = Awaited<ReturnType<typeof runCommand>>;

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
export async function runCommand(argv: string | readonly string[], world: TestWorld = {}) {
  const command = startCommand(typeof argv === "string" ? argv.split(" ") : argv, world);
  const code = await command.exitCode;
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}

/** What a command writes, wrapped or not: a text or a pattern, or several. "" is no output at all. */
type Said = string | RegExp | readonly (string | RegExp)[];

/** How a command must end. */
interface ExpectedEnd {
  readonly code?: number;
  readonly stdout?: Said;
  readonly stderr?: Said;
  /** What neither stream contains. */
  readonly never?: Said;
  /** Fields of the JSON on standard output. */
  readonly json?: object;
}

/** Runs a command, or waits for one that runs, and asserts how it ends. */
export async function expectEnd(
  command: string | readonly string[] | Promise<EndedCommand>,
  expected: ExpectedEnd,
  world: TestWorld = {},
): Promise<EndedCommand> {
  const ended = await (command instanceof Promise ? command : runCommand(command, world));
  const { code = ended.code, never = [], json } = expected;
  expect(ended).toMatchObject({ code });
  for (const stream of ["stdout", "stderr"] as const) {
    const written = ended[stream];
    for (const said of [expected[stream] ?? []].flat()) {
      if (said === "") expect(written).toBe("");
      else expect(isIn(written, said) ? written : oneLine(written)).toMatch(said);
    }
  }
  for (const hidden of [never].flat()) expect(ended.stdout + ended.stderr).not.toMatch(hidden);
  if (json !== undefined) expect(JSON.parse(ended.stdout)).toMatchObject(json);
  return ended;
}

function isIn(text: string, part: string | RegExp): boolean {
  return typeof part === "string" ? text.includes(part) : part.test(text);
}

/** A text whose lines were broken at the width of the terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** Starts `listen` on a free port. */
export async function startListening(argv: readonly string[] = [], world: TestWorld = {}) {
  const command = startCommand(["listen", "--port", "0", ...argv], world);
  const [url] = await command.says(/http:\/\/[^/]+\//);
  return {
    command,
    url: String(url),
    /** The deliveries that `listen --json` has shown. */
    entries: () =>
      command
        .stdout()
        .trim()
        .split("\n")
        .slice(1)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
