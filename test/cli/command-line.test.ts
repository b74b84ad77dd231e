import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Command } from "../../cli/command.js";
import { renderJunit } from "../../cli/doctor/junit-report.js";
import { Interruption, UsageError } from "../../cli/exit.js";
import { parseArguments } from "../../cli/options/arguments.js";
import { nearestName } from "../../cli/options/nearest-name.js";
import { runCommandLine } from "../../cli/run-command-line.js";
import { type Output, createStyle } from "../../cli/terminal/command-io.js";
import { printable, printableLine } from "../../cli/terminal/printable.js";
import { createProcessIo, flushed } from "../../cli/terminal/process-io.js";
import { createProgressBar } from "../../cli/terminal/progress-bar.js";
import { renderTable } from "../../cli/terminal/table.js";
import packageJson from "../../package.json" with { type: "json" };
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { never } from "../support/deferred.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { xmlFault } from "../support/xml-fault.js";

const folder = temporaryFolder();

const COMMANDS = ["send", "replay", "doctor", "listen", "explain", "gateway"];
const SECRET = "whsec_unknown_0123456789";

describe("help", () => {
  test("of every command fits 80 columns, has an example, and is what help and --help show", async () => {
    const shown: string[] = [];
    const show = async (names: readonly string[]): Promise<void> => {
      const { code, stdout, stderr } = await runCommand(["help", ...names]);
      expect({ names, code, stderr }).toEqual({ names, code: 0, stderr: "" });
      expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
      if (names.length > 0) {
        expect(stdout).toMatch(new RegExp(`^${packageJson.name} ${names.join(" ")}\n`));
        expect(stdout).toContain(`\n  npx ${packageJson.name} ${names.join(" ")} `);
        expect((await runCommand([...names, "--help"])).stdout).toBe(stdout);
        shown.push(names.join(" "));
      }
      const [first = "", last = ""] = [names.slice(0, -1), names.at(-1)].map(String);
      if (names.length > 1) expect((await runCommand(`${first} help ${last}`)).stdout).toBe(stdout);
      if (!stdout.includes(" <command> [options]")) return;
      const [list = ""] = stdout.split("Examples");
      for (const [, name = ""] of list.matchAll(/^ {2}([a-z]+) {2,}/gm)) {
        await show([...names, name]);
      }
    };
    await show([]);
    expect(shown).toEqual([
      "init",
      ...COMMANDS.slice(0, 5),
      "webhooks",
      ...["register", "check", "rotate", "history", "reconcile"].map((name) => `webhooks ${name}`),
      "jobs",
      "gateway",
    ]);
  });

  test.each(COMMANDS)("of %s stands before other options, and not behind --", async (name) => {
    const { stdout } = await expectEnd(`${name} --help`, { code: 0, stdout: "--json" });
    expect((await runCommand(`${name} --nonsense -h`)).stdout).toBe(stdout);
    expect((await runCommand(`${name} -- --help`)).stdout).not.toBe(stdout);
  });

  test.each(["help webhooks chek", "webhooks help chek"])(
    "of an unknown command of a group names the ones that there are: %s",
    async (argv) => {
      await expectEnd(argv, { code: 2, stdout: "", stderr: "did you mean check?" });
    },
  );

  test("the overview is what help and --help show; without arguments it goes to standard error", async () => {
    const asked = await runCommand("--help");
    expect(asked.code).toBe(0);
    expect(await runCommand("help")).toEqual(asked);
    expect(await runCommand("")).toEqual({ code: 2, stdout: "", stderr: asked.stdout });
  });

  test.each(["--version", "-V"])("%s is the version of the package", async (option) => {
    await expectEnd(option, { code: 0, stdout: `${packageJson.version}\n`, stderr: "" });
  });
});

test.each([
  ["sned", "unknown command sned, did you mean send?"],
  ["help doktor", "unknown command doktor, did you mean doctor?"],
  [
    [SECRET],
    "unknown command; the commands are init, send, replay, doctor, listen, explain, webhooks, jobs, gateway, help\n",
  ],
  [`help ${SECRET}`, "unknown command; the commands are init, send"],
  [`--secret:${SECRET} send`, "the command comes first, then --secret\n"],
  [`send --secret:${SECRET}`, "unknown option --secret"],
  [`send http:/user:${SECRET}@/`, "the endpoint must be an http or https URL"],
  [`send http://127.0.0.1/ --secret-file ${SECRET}`, "--secret-file: no such file"],
  [`send http://127.0.0.1/ --secret-file ${SECRET.repeat(20)}`, "--secret-file: ENAMETOOLONG"],
  ["send", "missing argument: <url>"],
  [`send http://127.0.0.1/ ${SECRET}`, "too many arguments: 2 given, expected <url>"],
  [`send --secert=${SECRET}`, "unknown option --secert, did you mean --secret?"],
  [`send --ä${SECRET}`, "unknown option -\n"],
  ["send --tamper=yes", "--tamper takes no value"],
  ["send --secret", "--secret needs a value: <secret>"],
  ["send --secret --json", "--secret needs a value; write a value that begins with a dash"],
  ["send --id a --id b", "--id was given twice"],
  ["send --times 0", "--times must be a whole number from 1 to 1000"],
  ["send --type alarm", "--type must be one of new_alarm, delete_my_data_event"],

  ["send http://127.0.0.1/ --id a:b", "--id must be"],
  ["send http://127.0.0.1/ --event DATA_REAPEARED", "did you mean DATA_REAPPEARED?"],
  ["send http://127.0.0.1/ --event DATA_DELETED --body x", "--body and --event exclude each other"],

  ["send http://127.0.0.1/ --fixture /there/is/none", "there is no /there/is/none"],
  [`send http://127.0.0.1/ --fixture fixtures`, "--fixture takes one file"],
  ["send http://127.0.0.1/ --follow-retries --tamper", "leave out --tamper"],
  ["send http://127.0.0.1/ --follow-retries --show-body", "--show-body cannot be used"],
  ["send http://127.0.0.1/ --json --show-body", "--show-body cannot be used"],
  [`send http://127.0.0.1/ --fixture fixtures --seed 1`, "--seed is for made-up"],
  ["send http://127.0.0.1/ --body x --format legacy", "--format is for made-up"],
  ["replay fixtures", "--to <url>"],
  [
    `replay fixtures/golden-vector.json --to http://127.0.0.1/ --type delete_my_data_event`,
    "no fixture is of the type delete_my_data_event",
  ],
  [`replay fixtures/README.md --to http://127.0.0.1/`, "is not a fixture"],
])("%j is wrong usage: one line that repeats no secret", async (argv, message) => {
  const { stderr } = await expectEnd(runCommand(argv), { code: 2, stdout: "", stderr: message });
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).not.toContain(SECRET);
});

test("any arguments are read or refused, and no message repeats a value", () => {
  const specs = {
    name: { kind: "text", value: "<name>", help: "" },
    all: { kind: "list", value: "<name>", help: "" },
    on: { kind: "flag", help: "" },
    count: { kind: "whole", value: "<n>", help: "", min: 1, max: 9, fallback: 3 },
  } as const;
  const usual = "--name --all --on --count -- - --no-on -n 5 --toString".split(" ");
  const word = fc.oneof(
    fc.constantFrom(...usual),
    fc.constantFrom(`--name=${SECRET}`, `--nam=${SECRET}`, `--on=${SECRET}`, SECRET),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (argv) => {
      try {
        const { values } = parseArguments(specs, argv);
        expect(values.count).toBeGreaterThanOrEqual(1);
        expect(values.count).toBeLessThanOrEqual(9);
        expect(typeof values.on).toBe("boolean");
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
        expect((error as Error).message).not.toContain(SECRET);
      }
    }),
  );
});

describe("where the secret comes from", () => {
  async function sendWith(content: string | Uint8Array, ...argv: readonly string[]) {
    const secretFile = folder.write("secret", content);
    const { url } = await receivingEndpoint();
    const env = { GATEWAY_WEBHOOK_SECRET: SECRET };
    return runCommand(["send", url, "--secret-file", secretFile, ...argv], { env });
  }

  test.each([TEST_SECRET, `${TEST_SECRET}\n`, `${TEST_SECRET}\r\n`])(
    "a file has precedence over the environment, without its last line end: %j",
    async (content) => {
      expect((await sendWith(content)).code).toBe(0);
    },
  );

  test.each([
    [`${TEST_SECRET}\n\n`, "white space at an end"],
    [`${TEST_SECRET} \n`, "white space at an end"],
    ["\n", "the file is empty"],
    [Uint8Array.of(0xff, 0x41), "not UTF-8"],
    [`\uFEFF${TEST_SECRET}`, "white space at an end"],
  ])("what else is in the file is not passed over: %j", async (content, message) => {
    const { stderr } = await expectEnd(sendWith(content), { code: 2, stderr: message });
    expect(stderr).not.toContain(TEST_SECRET);
  });

  test("two secrets, and no secret at all, are refused", async () => {
    await expectEnd(sendWith(TEST_SECRET, "--secret", SECRET), { stderr: "several secrets" });
    const env = { GATEWAY_WEBHOOK_SECRET: undefined };
    await expectEnd("send http://127.0.0.1/", { stderr: "no secret: set" }, { env });
  });
});

describe("colour", () => {
  test.each([
    [{ isTTY: false }, false],
    [{ isTTY: true }, true],
    [{ isTTY: true, env: { NO_COLOR: "1" } }, false],
    [{ isTTY: true, env: { NO_COLOR: "" } }, true],
    [{ isTTY: true, env: { TERM: "dumb" } }, false],
    [{ isTTY: false, env: { FORCE_COLOR: "1" } }, true],
    [{ isTTY: true, env: { FORCE_COLOR: "0" } }, false],
    [{ isTTY: false, env: { FORCE_COLOR: "1", NO_COLOR: "1" } }, true],
  ])("%j", async (world, isColoured) => {
    const { url } = await answeringEndpoint({ status: 401 });
    const { stdout } = await runCommand(`send ${url}`, world);
    const json = await runCommand(`send ${url} --json`, world);
    expect(stdout.includes("\u001b[")).toBe(isColoured);
    expect(stripVTControlCharacters(stdout)).toContain("✗ ");
    expect(json.stdout).not.toContain("\u001b");
  });
});

/** What a process listens to, and the name of the event. */
const EMITTERS: readonly (readonly [NodeJS.EventEmitter, string])[] = [
  [process, "SIGINT"],
  [process, "SIGTERM"],
  [process.stdout, "error"],
  [process.stderr, "error"],
];

describe("a process", () => {
  const before = new Map<object, readonly unknown[]>();

  beforeEach(() => {
    for (const pair of EMITTERS) before.set(pair, listenersOf(pair));
  });

  afterEach(() => {
    vi.restoreAllMocks();
    // Its listeners live as long as the process, and this process goes on.
    for (const pair of EMITTERS) {
      const [emitter, name] = pair;
      for (const listener of listenersOf(pair)) {
        if (before.get(pair)?.includes(listener) !== true) emitter.off(name, listener);
      }
    }
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("is asked to end by %s, and ended by a second one", (name, exitCode) => {
    const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
    const { signal } = createProcessIo();
    process.emit(name);
    expect(signal.reason).toMatchObject({ exitCode });
    expect(exit).not.toHaveBeenCalled();
    process.emit(name);
    expect(exit.mock.calls).toEqual([[exitCode]]);
  });

  test("ends when its standard output is closed, and goes on when its standard error is", () => {
    const { signal } = createProcessIo();
    process.stderr.emit("error", new Error("write EPIPE"));
    expect(signal.aborted).toBe(false);
    process.stdout.emit("error", Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    expect(signal.reason).toMatchObject({ exitCode: 141 });
  });

  test("says on standard error why its result cannot be written", () => {
    const write = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
    const { signal } = createProcessIo();
    process.stdout.emit("error", Object.assign(new Error("no space left"), { code: "ENOSPC" }));
    process.stdout.emit("error", Object.assign(new Error("no space left"), { code: "ENOSPC" }));
    expect(signal.reason).toMatchObject({ exitCode: 1 });
    expect(write.mock.calls).toEqual([["standard output: no space left\n"]]);
  });

  test("writes to its streams, and knows the width of a terminal", async () => {
    const write = vi.spyOn(process.stdout, "write");
    const { out, err, env } = createProcessIo();
    out.write("");
    expect(write).toHaveBeenCalledWith("");
    for (const { isTTY, columns } of [out, err]) {
      expect(typeof columns).toBe(isTTY ? "number" : "undefined");
    }
    expect(env).toBe(process.env);
    await flushed();
  });

  test.each([
    [120, 120],
    [0, undefined],
  ])("of a terminal that says it has %s columns, it knows %s", (columns, expected) => {
    const stream: { isTTY?: boolean; columns?: number } = process.stdout;
    const { isTTY, columns: before } = stream;
    Object.assign(stream, { isTTY: true, columns });
    const known = createProcessIo().out.columns;
    Object.assign(stream, { isTTY, columns: before });
    expect(known).toBe(expected);
  });
});

describe("the command line", () => {
  /** Runs a command made for the test: one with a bug, or one that hangs. */
  async function runWith(start: Command["start"], signal: AbortSignal) {
    const err = output();
    const streams = { out: err, err, readStdin: never, readLine: never, isStdinTTY: false };
    const command = { name: "odd", summary: "", help: () => "", start };
    const code = await runCommandLine(["odd"], { ...streams, env: {}, signal }, [command]);
    return { code, stderr: err.written() };
  }

  test("shows the stack of a bug, and exits 70", async () => {
    const bug = () => Promise.reject(new TypeError("x is not a function"));
    const { code, stderr } = await runWith(bug, new AbortController().signal);
    expect(code).toBe(70);
    expect(stderr).toMatch(/odd: a bug in this program.*\nTypeError: x is not a function\n +at /);
  });

  test.each(["before it starts", "when it runs"])(
    "ends without a command that ignores an interruption %s",
    async (when) => {
      vi.useFakeTimers({ toFake: ["setTimeout"] });
      const abort = new AbortController();
      const interruption = new Interruption(130, "SIGINT");
      if (when === "before it starts") abort.abort(interruption);
      const ended = runWith(() => never(), abort.signal);
      abort.abort(interruption);
      await vi.advanceTimersByTimeAsync(3_000);
      expect((await ended).code).toBe(130);
    },
  );
});

function listenersOf([emitter, name]: (typeof EMITTERS)[number]) {
  return emitter.listeners(name) as ((...args: unknown[]) => void)[];
}

function output(
  columns?: number,
  isTTY = columns !== undefined,
): Output & { readonly written: () => string } {
  let written = "";
  return {
    write: (text) => {
      written += text;
    },
    isTTY,
    columns,
    style: createStyle(isTTY),
    written: () => written,
  };
}

test("a JUnit report counts its cases and shows the failures", () => {
  const xml = renderJunit("suite", [
    { group: "must.once", name: "a", ms: 1500, state: "passed" },
    {
      group: "must.once",
      name: 'b "<&>"',
      ms: 0,
      state: "failed",
      message: "first\nsecond",
      details: "]]>\u0000\u001b",
    },
    { group: "should", name: "c", ms: 0, state: "skipped", message: "not seen" },
  ]);
  expect(xmlFault(xml)).toBeUndefined();
  expect(xml).toContain('tests="3" failures="1" errors="0" skipped="1" time="1.500"');
  expect(xml).toContain('name="b &quot;&lt;&amp;&gt;&quot;"');
  expect(xml).toContain('<failure message="first&#10;second">]]&gt;\\u0000\\u001b</failure>');
  expect(xml).toContain('<skipped message="not seen"/>');
});

test("a JUnit report is well-formed XML for any answer", () => {
  const text = fc.string({ unit: "binary" });
  const lone = fc.constantFrom("\ud800", "\udfff", "<", "]]>", '"', "\r\n", "\u0085", "\ufffe");
  const any = fc.array(fc.oneof(text, lone)).map((parts) => parts.join(""));
  fc.assert(
    fc.property(any, any, (message, details) => {
      const one = { group: details, name: message, ms: 1, state: "failed", message } as const;
      const xml = renderJunit(message, [{ ...one, details }]);
      expect(xmlFault(xml)).toBeUndefined();
    }),
  );
});

test("the XML check of the JUnit tests finds errors", () => {
  const broken = ["<a>", "<a></b>", "<a>&</a>", '<a b="<"/>', "<a>\u0000</a>", "<a b='1'/>"];
  for (const xml of broken) expect(xmlFault(xml)).toBeDefined();
});

const columns = [
  { title: "Name", isFlexible: true },
  { title: "ms", align: "right" },
] as const;
const rows = [
  ["a name that is rather long", "1.0"],
  ["short", { text: "200.5", format: "red" }],
] as const;

test("a table is complete in a pipe", () => {
  expect(renderTable(columns, rows, output())).toEqual([
    "Name                           ms",
    "a name that is rather long    1.0",
    "short                       200.5",
  ]);
});

test("a table fits the width of a terminal, and has colours there", () => {
  const lines = renderTable(columns, rows, output(22));
  expect(lines).toEqual([
    "\u001b[2mName           \u001b[22m  \u001b[2m   ms\u001b[22m",
    "a name that is…    1.0",
    "short            \u001b[31m200.5\u001b[39m",
  ]);
});

test("a table without rows shows only its header", () => {
  expect(renderTable(columns, [], output())).toEqual(["Name  ms"]);
});

test("a progress bar is drawn on one line of a terminal and removed", () => {
  const err = output(30);
  const bar = createProgressBar(err, 2);
  bar.advance("the first");
  bar.advance();
  bar.end();
  const drawn = err.written().split("\r\u001b[2K");
  expect(drawn).toHaveLength(5);
  expect(drawn[2]).toMatch(/^█{12}░{12} 1\/2/);
  expect(drawn.every((line) => line.length < 30)).toBe(true);
  expect(drawn.at(-1)).toBe("");
});

test("a progress bar lets a line stay above it, which is written without a bar too", () => {
  const err = output(30);
  const bar = createProgressBar(err, 2);
  bar.advance("the first");
  bar.say("it takes long");
  expect(err.written().split("\r\u001b[2K").slice(3)).toEqual([
    "it takes long\n",
    expect.stringMatching(/^█{12}░{12} 1\/2/),
  ]);
  const pipe = output(undefined);
  createProgressBar(pipe, 9).say("it takes long");
  expect(pipe.written()).toBe("it takes long\n");
});

test("a progress bar assumes 80 columns for a terminal of unknown width", () => {
  const err = output(undefined, true);
  createProgressBar(err, 2).advance("x".repeat(200));
  const drawn = err.written().split("\r\u001b[2K");
  expect(drawn.map((line) => line.length)).toEqual([0, 29, 79]);
});

test("a progress bar escapes control characters in the name of a file", () => {
  const err = output(80);
  createProgressBar(err, 2).advance("a\u001b[2J\u009b\nb");
  expect(err.written()).toContain("a\\u001b[2J\\u009b\\nb");
  expect(err.written().replaceAll("\r\u001b[2K", "")).not.toMatch(/\p{Cc}/u);
});

test("a progress bar is not drawn for one step", () => {
  const err = output(80);
  const bar = createProgressBar(err, 1);
  bar.advance("x");
  bar.end();
  expect(err.written()).toBe("");
});

test("foreign text cannot control the terminal", () => {
  expect(printable("a\tb\nc\u001b[31m\u009b\u202e\r")).toBe(
    "a  b\nc\\u001b[31m\\u009b\\u202e\\u000d",
  );
  expect(printableLine("a\nb")).toBe("a\\nb");
  expect(printableLine("abcdef", 4)).toBe("abc…");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(printableLine(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/u);
    }),
  );
});

test("text of any script is printed unchanged", () => {
  const text = "Åsa Öberg, Þórr, Ελένη, 日本語, עברית, العربية, हिन्दी 👋";
  expect(printable(text)).toBe(text);
});

test.each([
  ["CONCURENT", "concurrent"],
  ["follow", "follow-retries"],

  ["", undefined],
])("the suggestion for the misspelt name %j is %j", (given, expected) => {
  expect(nearestName(given, ["tamper", "concurrent", "follow-retries", "id"])).toBe(expected);
});
