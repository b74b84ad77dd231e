import { execFile, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installCli, type InstalledCli, startExpressExample } from "../support/cli/cli-binary.js";
import { receivingEndpoint } from "../support/cli/cli-endpoint.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { fixtures } from "../support/fixtures.js";
import { freePort, isListening } from "../support/free-port.js";
import { TESTING_DOCUMENTS } from "../support/package/documents.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";

/** A command of a document, and what the document says it prints. */
interface ShownCommand {
  readonly command: string;
  readonly output: string;
}

const PROMPT = "$ ";

/** The commands of a `console` block: each line with a prompt, and what stands below it. */
function shownCommands(block: string): readonly ShownCommand[] {
  const [before = "", ...parts] = `\n${block}`.split(`\n${PROMPT}`);
  if (before.trim() !== "") throw new Error("a console block begins with a command");
  return parts.map((part) => {
    const [command = "", ...output] = part.split("\n");
    return { command, output: output.join("\n") };
  });
}

/**
 * An output without what differs from run to run: ids, times, durations, the start of a signature, and
 * the white space that gives way to them.
 */
function lastingOutput(output: string): string {
  return (
    output
      .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<id>")
      .replaceAll(/(?<=X-Webhook-Timestamp:?\s+)[0-9]{10}\b/g, "<seconds>")
      .replaceAll(/\bv1=[0-9a-f]{5}…/g, "v1=<hex>…")
      .replaceAll(/\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b/g, "<time>")
      .replaceAll(/\b[0-9]+(?:\.[0-9])?(?= ms\b)/g, "<ms>")
      // Made-up records differ in length from run to run.
      .replaceAll(/(?<=v1=<hex>…; )[0-9]+(?= bytes\b)/g, "<n>")
      // In a column of durations.
      .replaceAll(/ [0-9]+\.[0-9](?=\s)/g, " <ms>")
      .replaceAll(/\s+/g, " ")
      .trim()
  );
}

const README = readMarkdown("README.md");
const FIRST_PAGE = readMarkdown("docs/index.md");
const SHOWN = TESTING_DOCUMENTS.flatMap((file) =>
  readMarkdown(file).snippets("console").flatMap(shownCommands),
);
const LISTEN = SHOWN.filter(({ command }) => command.includes(" listen "));

/** The server of the README's quick start, in a process of its own. */
type ReadmeServer = Awaited<ReturnType<typeof startReadmeServer>>;

/**
 * Writes the README's `server.ts` to a partner's folder and starts it with the README's secret, on a free
 * port in place of 3000. The folder needs the package and `express`.
 */
async function startReadmeServer(folder: string) {
  const port = await freePort();
  /** A text of the README with the port that the server has here. */
  const atPort = (text: string) => text.replaceAll("3000", String(port));
  const file = path.join(folder, "server.ts");
  writeFileSync(file, atPort(README.snippet("ts", "// server.ts")));
  const [, secret = ""] =
    /GATEWAY_WEBHOOK_SECRET=(\S+)/.exec(README.snippet("sh", "npx tsx server.ts")) ?? [];
  const server = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), file], {
    env: { PATH: process.env["PATH"], GATEWAY_WEBHOOK_SECRET: secret },
    stdio: "ignore",
  });
  while (!(await isListening(port))) await wait(20);
  return { atPort, stop: () => server.kill() };
}

let cli: InstalledCli;
let example: Awaited<ReturnType<typeof startExpressExample>>;

beforeAll(async () => {
  cli = installCli();
  example = await startExpressExample();
});

afterAll(() => {
  example.stop();
  cli.remove();
});

/** Runs a script in the partner's folder and merges both output streams, as a terminal does. */
function runShell(
  script: string,
  env: Readonly<Record<string, string>> = {},
  cwd: string = cli.folder,
) {
  return new Promise<{ code: number | string; output: string }>((resolve) => {
    execFile(
      "bash",
      ["-euc", `exec 2>&1; ${script}`],
      { cwd, env: { PATH: process.env["PATH"], ...env } },
      (error, output) => resolve({ code: error?.code ?? 0, output }),
    );
  });
}

describe("the README", () => {
  const partner = partnerProject();
  let server: ReadmeServer;

  beforeAll(async () => {
    server = await startReadmeServer(partner().folder);
  });

  afterAll(() => {
    server.stop();
  });

  test("the commands of the README and of the first page succeed on the README's own server", async () => {
    const run = (script: string) => runShell(server.atPort(script), {}, partner().folder);

    // `first-commands.test.ts` has the last one.
    const [install, start, firstSend = "", prove = "", , ...others] = README.snippets("sh");
    expect(install).toContain("npm install");
    expect(start).toContain("npx tsx server.ts");
    expect(others).toEqual([]);
    const byHand = FIRST_PAGE.snippet("sh", "openssl dgst");

    const sent = await run(firstSend);
    expect(sent.output).toContain("✓ acknowledged");
    expect(sent.code).toBe(0);

    const twice = `${byHand}\nprintf '\\n'\n${byHand.slice(byHand.indexOf("curl"))}`;
    const answers = await run(twice);
    expect(answers.output.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(2);
    expect(answers.output).toContain('{"outcome":"handled"}');
    expect(answers.output).toContain('{"outcome":"duplicate"}');
    expect(answers.code).toBe(0);

    const { code, output } = await run(prove);
    expect(output).toContain("✓ acknowledged");
    expect(output).toContain(`✓ ${String(fixtures.length)} as expected`);
    expect(output).toMatch(/✓ [0-9]+ passed, [0-9]+ not judged/);
    expect(code).toBe(0);
  });
});

const runnable = SHOWN.filter((shown) => !LISTEN.includes(shown));

test("the documents about tests show every command", () => {
  const names = SHOWN.map(({ command }) => / identity-gateway-webhooks (\w+)/.exec(command)?.[1]);
  expect(new Set(names)).toEqual(new Set(["send", "replay", "doctor", "listen", "explain"]));
});

test.each(runnable)(
  "the documents about tests show the actual output of $command",
  async ({ command, output }) => {
    const rejecting = await receivingEndpoint({ unverifiable: "reject" });
    // The URLs in the documents, and the URLs of the servers in this test.
    const endpoints = [
      ["http://127.0.0.1:3000/", new URL("/", example.url).href],
      ["http://127.0.0.1:3001/", new URL("/", rejecting.url).href],
    ] as const;
    const toActual = (text: string): string =>
      endpoints.reduce((all, [shown, actual]) => all.replaceAll(shown, actual), text);
    const toShown = (text: string): string =>
      endpoints.reduce((all, [shown, actual]) => all.replaceAll(actual, shown), text);
    const binary = path.relative(cli.folder, cli.binary);
    const script = toActual(command).replace("npx identity-gateway-webhooks", binary);
    const result = await runShell(script, { GATEWAY_WEBHOOK_SECRET: TEST_SECRET });
    expect(lastingOutput(toShown(result.output))).toBe(lastingOutput(output));
    expect(result.code).toBe(output.includes("✗") ? 1 : 0);
  },
);

test.each(LISTEN)(
  "the documents about tests show the actual output of $command, for a fresh delivery and a stale one",
  async ({ command, output }) => {
    const [, shownPort = ""] = /--port ([0-9]+)$/.exec(command) ?? [];
    const { child, stdout, ended, firstLine } = cli.start(["listen", "--port", "0"]);
    const [url = ""] = /http:\S+/.exec(await firstLine) ?? [];
    expect(await cli.start(["send", url]).ended).toBe(0);
    expect(await cli.start(["send", url, "--stale", "4500"]).ended).toBe(0);
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    const printed = (await stdout).replace(`:${new URL(url).port}/`, `:${shownPort}/`);
    expect(lastingOutput(printed)).toBe(lastingOutput(output));
  },
);
