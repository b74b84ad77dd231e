import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { createWebhookReceiver } from "../../src/index.js";
import { FRAMEWORKS } from "../../cli/init-files.js";
import { STORES } from "../../cli/init-stores.js";
import { expectEnd, runCommand, type TestWorld } from "../support/cli/cli-io.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { thrownBy } from "../support/thrown.js";

const folder = temporaryFolder();
/** Those that need no app. */
const NAMES = Object.keys(FRAMEWORKS).filter(
  (name) => !["nestjs", "next", "sveltekit"].includes(name),
);
const SERVER = ["gateway.ts", "gateway.test.ts"];
const TERMINAL = { isTTY: true };

function init(argv: string, world?: TestWorld) {
  return runCommand(["init", folder.at(), ...argv.split(" ").filter((word) => word !== "")], world);
}

function written(): readonly string[] {
  return readdirSync(folder.at()).sort();
}

const read = (name: string): string => readFileSync(folder.at(name), "utf8");

test.each(NAMES)(
  "init --framework %s writes whole files and the command of each step",
  async (name) => {
    const { stdout } = await expectEnd(init(`--framework ${name} --yes`), { code: 0, stderr: "" });
    const files = Object.keys(FRAMEWORKS[name]?.host?.files ?? {});
    if (files.length === 0) files.push(...SERVER);
    for (const file of [...files, ".env.example", ".gitignore", "package.json"]) {
      expect(stdout).toContain(`+ ${file}\n`);
      expect(read(file), file).not.toBe("");
    }
    const code = files.map(read).join("\n");
    expect(code).toContain("new_alarm");
    expect(code).toContain("TEST_SECRET");
    expect(code).not.toContain("examples/");
    for (const command of ["npm install identity", "npm test", "npm start", "send http://127"]) {
      expect(stdout).toContain(command);
    }
  },
);

test.each(NAMES)(
  "the secret in the .env.example of %s is one that the receiver refuses",
  async (name) => {
    await init(`--framework ${name} --yes`);
    const [, secret] = /^GATEWAY_WEBHOOK_SECRET=(.*)$/m.exec(read(".env.example")) ?? [];
    const refused = thrownBy(() =>
      createWebhookReceiver({ secret, handlers: { new_alarm: () => undefined } }),
    );
    expect(refused).toMatchObject({ code: "unusable_secret" });
    const secretFile = FRAMEWORKS[name]?.secretFile ?? "";
    expect(read(".gitignore").split("\n")).toContain(secretFile);
  },
);

test.each(Object.entries(STORES))(
  "init --store %s writes a receiver with that store, which it closes last",
  async (name, { packages, close, url }) => {
    const given = init(`--framework express --store ${name} --yes`);
    const { stdout } = await expectEnd(given, { code: 0, stderr: "" });
    expect(stdout).toContain(`express ${packages.join(" ")}\n`);
    const server = read("gateway.ts");
    expect(server).toContain(`${name}Store({`);
    expect(server).toMatch(/^ {2}store,$/m);
    expect(server).toContain(`close: ${close} };`);
    expect(server).toContain("receiver.drain().then(close);");
    expect(read(".env.example").includes(`\n${url ?? "nothing"}=\n`)).toBe(url !== undefined);
    expect(read("package.json")).toContain('"test": "node --import tsx --test gateway.test.ts"');
  },
);

test("init --dry-run shows the files and the commands, and writes nothing", async () => {
  const install = "npm install identity-gateway-webhooks hono @hono/node-server\n";
  const stdout = ["+ gateway.ts\n", "Nothing was written", install];
  await expectEnd(init("--framework hono --dry-run"), { code: 0, stdout });
  expect(written()).toEqual([]);
});

test("init overwrites nothing: its own files stay, and one of the user's means another name", async () => {
  folder.write("gateway.ts", "mine");
  folder.write(".env.example", "OTHER=1\n");
  const stdout = ["  .env.example is there and stays as it is\n", "+ gateway-webhooks.ts\n"];
  await expectEnd(init("--framework node --yes"), { code: 0, stdout });
  expect([read("gateway.ts"), read(".env.example")]).toEqual(["mine", "OTHER=1\n"]);
  expect(read("gateway-webhooks.test.ts")).toContain('"gateway-webhooks.ts"');
  await expectEnd(init("--framework node --yes"), { code: 0, stdout: "Written: 0 files" });
});

test.skipIf(process.platform === "win32")(
  "the command that init ends with makes a secret's file for its owner alone",
  async () => {
    const { stdout } = await expectEnd(init("--framework node --yes"), { never: "git does not" });
    const [, command = ""] = /^ {2}(\(umask .*)$/m.exec(stdout) ?? [];
    execFileSync("sh", ["-c", command], { cwd: folder.at() });
    expect(statSync(folder.at(".env")).mode & 0o777).toBe(0o600);
    const there = "chmod 600 .env  # then add the lines of .env.example and the secret\n";
    await expectEnd(init("--framework node --dry-run"), { stdout: there, never: "umask" });
  },
);

test.each([
  ["node_modules\n", ".env", true],
  ["node_modules\r\n.env\r\n", ".env", false],
  [".env*\n!.env.example", ".env", false],
  ["# .env", ".env", true],
  ["/.env", ".dev.vars", true],
])("with the .gitignore %j init looks whether git ignores %s", async (text, file, isRisk) => {
  folder.write(".gitignore", text);
  const framework = file === ".env" ? "express" : "cloudflare";
  const said = [`git does not ignore ${file}, and would`, `printf '\\n${file}\\n' >> .gitignore\n`];
  const expected = isRisk ? { stdout: said } : { never: said };
  await expectEnd(init(`--framework ${framework} --yes`), { code: 0, ...expected });
  expect(read(".gitignore")).toBe(text);
});

test.each([
  ["express", { dependencies: { express: "^5.0.0" } }],
  ["cloudflare", { devDependencies: { wrangler: "^4.0.0" } }],
  ["aws-lambda", { devDependencies: { "@types/aws-lambda": "^8.0.0" } }],
])("init finds %s in package.json, which it leaves as it is", async (name, found) => {
  folder.write("package.json", JSON.stringify(found));
  const stdout = [`A receiver for ${name}:`, "package.json is there and stays as it is"];
  await expectEnd(init("--yes"), { code: 0, stdout, never: "npm start" });
  expect(read("package.json")).toBe(JSON.stringify(found));
});

test("in a JavaScript project of CommonJS with Vitest, init writes JavaScript, and a test that Vitest can read", async () => {
  folder.write("package.json", JSON.stringify({ devDependencies: { vitest: "4", koa: "3" } }));
  const stdout = ["npx vitest run gateway.test.js\n", "node --env-file=.env gateway.js\n"];
  await expectEnd(init("--yes"), { code: 0, stdout });
  expect(read("gateway.js")).toContain('require("identity-gateway-webhooks/koa")');
  expect(read("gateway.test.js")).toContain('from "vitest"');
});

test("on a terminal init asks for the framework, and before it writes", async () => {
  const stderr = ["Which framework: one of express, ", "Write them?"];
  await expectEnd(init("", { ...TERMINAL, stdin: "koa\ny\n" }), { code: 0, stderr });
  expect(read("gateway.ts")).toContain("koaHandler");
});

test("on a terminal init writes nothing without a yes", async () => {
  const refused = init("--framework koa", { ...TERMINAL, stdin: "\n" });
  await expectEnd(refused, { code: 0, stdout: "Nothing was written." });
  expect(written()).toEqual([]);
});

test.each<[string, string, string, TestWorld?]>([
  ["no framework and no terminal", "--yes", "no framework: pass --framework, which is one of"],
  ["no terminal and no --yes", "--framework node", "pass --yes"],
  ["an unknown framework", "--framework expres --yes", "did you mean express?"],
  ["an unknown store", "--framework node --store redi --yes", "did you mean redis?"],
  ["a store for Lambda", "--framework aws-lambda --store redis --yes", "leave out --store"],
  ["another answer", "", "the framework must be one of", { ...TERMINAL, stdin: "constructor\n" }],
])("with %s init exits 2 and writes nothing", async (_what, argv, stderr, world) => {
  await expectEnd(init(argv, world), { code: 2, stderr });
  expect(written()).toEqual([]);
});

test("with two known frameworks in package.json init names both and exits 2", async () => {
  folder.write("package.json", JSON.stringify({ dependencies: { hono: "4", express: "5" } }));
  await expectEnd(init("--yes"), { code: 2, stdout: "", stderr: "which is one of express, hono" });
});

test("a package.json that is no JSON, and a folder that is a file, are wrong usage", async () => {
  const file = folder.write("file", "");
  const other = runCommand(["init", file, "--framework", "node", "--yes"]);
  await expectEnd(other, { code: 2, stderr: "file" });
  folder.write("package.json", "{");
  await expectEnd(init("--yes"), { code: 2, stdout: "", stderr: "package.json cannot be read" });
});

test("init --agents adds one line to an AGENTS.md, and no other run does", async () => {
  folder.write("AGENTS.md", "# Rules");
  await expectEnd(init("--framework express --yes"), { code: 0 });
  expect(read("AGENTS.md")).toBe("# Rules");
  for (let times = 0; times < 2; times += 1) {
    const { stdout } = await expectEnd(init("--framework express --agents --yes"), { code: 0 });
    expect(stdout).toContain("+ a line in AGENTS.md\n");
  }
  const [first, line, ...more] = read("AGENTS.md").split("\n");
  expect([first, ...more]).toEqual(["# Rules", ""]);
  expect(line).toContain("read node_modules/identity-gateway-webhooks/AGENTS.md");
});

test("init --agents without an AGENTS.md writes nothing", async () => {
  const { stderr } = await expectEnd(init("--framework express --agents --yes"), { code: 2 });
  expect(stderr).toContain("--agents adds a line to AGENTS.md, and there is none");
  expect(written()).toEqual([]);
});
