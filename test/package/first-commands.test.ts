import { execFile } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { startReadmeServer, type ReadmeServer } from "../support/package/readme-server.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const README = readMarkdown("README.md");
const COMMANDS = README.snippet("sh", "npm ci && npm test");
/** Maps the package's names to the sources, so that nothing has to be built. */
const SOURCES = path.join(REPOSITORY, "examples/demo/tsconfig.sources.json");

it("CONTRIBUTING begins with the README's two commands", () => {
  expect(readMarkdown("CONTRIBUTING.md").snippets("sh")[0]).toBe(COMMANDS);
});

it(".ci/run runs the README's two commands with nothing but Node on the PATH", () => {
  const commands = Array.from(COMMANDS.matchAll(/&& (npm [a-z ]*[a-z])/g), ([, name]) => name);
  expect(commands).toEqual(["npm run demo", "npm test"]);
  const ci = readFileSync(path.join(REPOSITORY, ".ci/run"), "utf8");
  for (const command of ["npm ci", ...commands]) expect(ci).toContain(`with_node_only ${command}`);
});

describe("the README's first snippet", () => {
  const folder = temporaryFolder(afterAll);
  let server: ReadmeServer;

  beforeAll(async () => {
    symlinkSync(path.join(REPOSITORY, "node_modules"), folder.at("node_modules"), "dir");
    server = await startReadmeServer(folder.at(), SOURCES);
  });
  afterAll(() => {
    server.stop();
  });

  it("the README's server answers the README's command with 200 handled", async () => {
    const shown = README.snippets("sh").find((code) => code.includes("webhooks send")) ?? "";
    const [, secret = ""] = /GATEWAY_WEBHOOK_SECRET=(\S+)/.exec(shown) ?? [];
    const [, url = ""] = /send (\S+)/.exec(server.atPort(shown)) ?? [];
    const cli = path.join(REPOSITORY, "cli/main.ts");
    const argv = ["--import", import.meta.resolve("tsx"), cli, "send", url];
    const settings = { GATEWAY_WEBHOOK_SECRET: secret, TSX_TSCONFIG_PATH: SOURCES };
    const env = { PATH: process.env["PATH"], ...settings };
    const { stdout } = await promisify(execFile)(process.execPath, argv, { env });
    expect(stdout).toContain("200  handled");
  });
});
