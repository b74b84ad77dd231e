import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { parseArguments } from "../../cli/options/arguments.js";
import { UsageError } from "../../cli/exit.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { answeringEndpoint, receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

const COMMANDS = ["send", "replay", "doctor", "listen", "explain", "gateway"];
const SECRET = "whsec_unknown_0123456789";

describe("help", () => {
  test.each(COMMANDS)(
    "of %s has examples and fits 80 columns, by --help and by help",
    async (name) => {
      const { stdout } = await expectEnd(runCommand(`${name} --help`), { code: 0, stderr: "" });
      expect(stdout).toMatch(new RegExp(`Usage: ${packageJson.name} ${name} `));
      expect(stdout).toContain(`npx ${packageJson.name} ${name}`);
      expect(stdout).toContain("--json");
      const [options = ""] = stdout.split("Examples");
      expect(options.split("\n").filter((line) => line.length > 80)).toEqual([]);
      expect((await runCommand(`help ${name}`)).stdout).toBe(stdout);
      expect((await runCommand(`${name} --nonsense -h`)).stdout).toBe(stdout);
      expect((await runCommand(`${name} -- --help`)).stdout).not.toBe(stdout);
    },
  );

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
      "gateway",
    ]);
  });

  test("of an unknown command of a group names the ones that there are", async () => {
    for (const argv of [
      ["help", "webhooks", "chek"],
      ["webhooks", "help", "chek"],
    ]) {
      await expectEnd(runCommand(argv), { code: 2, stdout: "", stderr: "did you mean check?" });
    }
  });

  test("the overview names every command; without arguments it goes to standard error", async () => {
    const asked = await runCommand("--help");
    for (const name of COMMANDS) expect(asked.stdout).toContain(`  ${name}  `);
    expect(asked.code).toBe(0);
    expect(await runCommand("help")).toEqual(asked);
    expect(await runCommand("")).toEqual({ code: 2, stdout: "", stderr: asked.stdout });
  });

  test.each(["--version", "-V"])("%s is the version of the package", async (option) => {
    expect(await runCommand(option)).toEqual({
      code: 0,
      stdout: `${packageJson.version}\n`,
      stderr: "",
    });
  });
});

test.each([
  ["sned", "unknown command sned, did you mean send?"],
  ["help doktor", "unknown command doktor, did you mean doctor?"],
  [
    "xyzzy",
    "unknown command; the commands are init, send, replay, doctor, listen, explain, webhooks, gateway, help\n",
  ],
  [[SECRET], "unknown command; the commands are init, send"],
  [`help ${SECRET}`, "unknown command; the commands are init, send"],
  [`--secret:${SECRET} send`, "the command comes first, then --secret\n"],
  [`send --secret:${SECRET}`, "unknown option --secret"],
  [`send http:/user:${SECRET}@/`, "the endpoint must be an http or https URL"],
  [`send htps://example.com/?token=${SECRET}`, "the endpoint must be an http or https URL"],
  [`doctor ftp://user:${SECRET}@example.com/`, "the endpoint must be an http or https URL"],
  [`listen --forward //user:${SECRET}@example.com/`, "the endpoint must be an http or https"],
  [`replay x --to user:${SECRET}@example.com`, "the endpoint must be an http or https URL"],
  [`send http://127.0.0.1/ --secret-file ${SECRET}`, "--secret-file: no such file"],
  [`send http://127.0.0.1/ --secret-file ${SECRET.repeat(20)}`, "--secret-file: ENAMETOOLONG"],
  [`--secret=${SECRET} send`, "the command comes first, then --secret\n"],
  ["send", "missing argument: <url>"],
  [`send http://127.0.0.1/ ${SECRET}`, "too many arguments: 2 given, expected <url>"],
  [`send --secert=${SECRET}`, "unknown option --secert, did you mean --secret?"],
  ["send -x", "unknown option -x"],
  [`send --ä${SECRET}`, "unknown option -\n"],
  ["send --__proto__ 1", "unknown option --__proto__"],
  ["send --tamper=yes", "--tamper takes no value"],
  ["send --secret", "--secret needs a value: <secret>"],
  ["send --secret --json", "--secret needs a value; write a value that begins with a dash"],
  ["send --id a --id b", "--id was given twice"],
  ["send --times 0", "--times must be a whole number from 1 to 1000"],
  ["send --times 1.5", "--times must be a whole number from 1 to 1000"],
  ["send --times -1", "--times must be a whole number from 1 to 1000"],
  ["listen --port 65536", "--port must be a whole number from 0 to 65535"],
  ["send --type alarm", "--type must be one of new_alarm, delete_my_data_event"],
  ["send not-a-url", "must be an http or https URL"],
  ["send ftp://127.0.0.1/", "must be an http or https URL"],
  ["send http://127.0.0.1/ --id a:b", "--id must be"],
  ["send http://127.0.0.1/ --event DATA_REAPEARED", "did you mean DATA_REAPPEARED?"],
  ["send http://127.0.0.1/ --event DATA_DELETED --body x", "--body and --event exclude each other"],
  ["send http://127.0.0.1/ --body /there/is/none", "no such file"],
  ["send http://127.0.0.1/ --fixture /there/is/none", "there is no /there/is/none"],
  [`send http://127.0.0.1/ --fixture fixtures`, "--fixture takes one file"],
  ["send http://127.0.0.1/ --follow-retries --tamper", "leave out --tamper"],
  ["send http://127.0.0.1/ --follow-retries --show-body", "--show-body cannot be used"],
  ["send http://127.0.0.1/ --json --show-body", "--show-body cannot be used"],
  [`send http://127.0.0.1/ --fixture fixtures --seed 1`, "--seed is for made-up"],
  ["send http://127.0.0.1/ --body x --format legacy", "--format is for made-up"],
  ["replay there-is-none --to http://127.0.0.1/", "there is no there-is-none"],
  ["replay fixtures", "--to <url>"],
  [`replay fixtures --to http://127.0.0.1/ --type alarm`, "--type must be one of"],
  [
    `replay fixtures/golden-vector.json --to http://127.0.0.1/ --type delete_my_data_event`,
    "no fixture is of the type delete_my_data_event",
  ],
  ["replay --to http://127.0.0.1/", "missing argument: <files…>"],
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
  const word = fc.oneof(
    fc.constantFrom(
      "--name",
      "--all",
      "--on",
      "--count",
      "--",
      "-",
      "--no-on",
      "-n",
      "5",
      "--toString",
    ),
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
    const ended = await runCommand(["send", url, "--secret-file", secretFile, ...argv], { env });
    return ended;
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

  test("two secrets, a missing file and a missing secret are refused", async () => {
    expect((await sendWith(TEST_SECRET, "--secret", SECRET)).stderr).toContain("several secrets");
    const argv = ["send", "http://127.0.0.1/"];
    const none = await runCommand([...argv, "--secret-file", folder.at("none")]);
    expect(none.stderr).toContain("--secret-file: ");
    expect(none.stderr).toContain("no such file");
    const env = { GATEWAY_WEBHOOK_SECRET: undefined };
    expect((await runCommand(argv, { env })).stderr).toContain("no secret: set");
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
