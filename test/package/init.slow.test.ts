import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { FRAMEWORKS } from "../../cli/init-files.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { missingMiniflare } from "../support/cloudflare/miniflare.js";
import { describeService } from "../support/describe-service.js";
import { rowsOfRun } from "../support/extent.js";
import { freePort } from "../support/free-port.js";
import { hasMysql, startMysql } from "../support/mysql/mysql-server.js";
import {
  REPOSITORY,
  installPackage,
  withoutRunner,
  type InstalledPackage,
} from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { installPlatform } from "../support/platform-packages.js";
import { hasPostgres, startPostgres } from "../support/postgres/postgres-server.js";
import { hasRedisServer, startRedisServer } from "../support/redis/redis-server.js";

const CLI = "node_modules/identity-gateway-webhooks/dist/cli.js";
/** Where the packages are that the checkout itself does not have. */
const FOLDERS = ["", "test/platforms/dynamodb", "test/platforms/cloudflare"];

let project: InstalledPackage;
afterEach(() => {
  project.remove();
});

/** Runs `init` of the packed package, then links the packages that its commands install. Returns the commands. */
function start(
  name: string,
  packageJson?: object,
  store = "memory",
  app?: string,
): readonly string[] {
  project = installPackage("module");
  if (packageJson === undefined) rmSync(path.join(project.folder, "package.json"));
  else project.write("package.json", JSON.stringify(packageJson));
  if (app !== undefined) project.write("app.js", app);
  const stored = store === "memory" ? [] : ["--store", store];
  const output = project.node([CLI, "init", "--framework", name, "--yes", ...stored]);
  const [, ...commands] = output.split("\n  ");
  const installed = commands.filter((command) => command.startsWith("npm install"));
  const names = installed.flatMap((command) => command.split(" ").slice(2));
  for (const wanted of names.filter((one) => !/^(--save-dev|identity-)/.test(one))) {
    const from = FOLDERS.find((one) =>
      existsSync(path.join(REPOSITORY, one, "node_modules", wanted)),
    );
    if (from !== undefined) project.borrow(wanted, from);
    // The only one that the repository does not have, and the written test does not need.
    else expect(wanted).toBe("wrangler");
  }
  for (const tool of ["esbuild", "vitest"]) {
    const binary = path.join(REPOSITORY, "node_modules/.bin", tool);
    const link = path.join(project.folder, "node_modules/.bin", tool);
    if (!existsSync(link)) symlinkSync(binary, link);
  }
  // A line behind it may be a heading.
  return commands.map((command) => command.split("\n", 1).join("").trim());
}

function shell(command: string): string {
  return execFileSync("bash", ["-c", `exec 2>&1; ${command}`], {
    cwd: project.folder,
    encoding: "utf8",
    env: { ...withoutRunner(), NO_COLOR: "1" },
  });
}

/** Runs the command that starts the receiver, and sends it an alarm by the last command. */
async function startAndSend(commands: readonly string[], env = ""): Promise<string> {
  const [starting = "", sending = ""] = commands.slice(-2);
  const ports = { 3000: await freePort(), 8000: await freePort() };
  const atPorts = (text: string): string =>
    text.replaceAll("3000", String(ports[3000])).replaceAll("8000", String(ports[8000]));
  const local = path.join(project.folder, "local.mjs");
  if (existsSync(local)) project.write("local.mjs", atPorts(readFileSync(local, "utf8")));
  project.write(".env", `GATEWAY_WEBHOOK_SECRET=${TEST_SECRET}\n${env}`);
  const running = spawn("bash", ["-c", starting], {
    cwd: project.folder,
    env: { ...withoutRunner(), GATEWAY_WEBHOOK_SECRET: undefined, PORT: String(ports[3000]) },
    detached: true,
  });
  const ended = once(running, "close");
  let output = "";
  for (const stream of [running.stdout, running.stderr]) {
    stream.on("data", (text: Buffer) => (output += text.toString()));
  }
  try {
    await expect.poll(() => output).toMatch(/listening on|^ready$/m);
    return shell(atPorts(sending).replace("…", TEST_SECRET));
  } finally {
    // The whole group: npm, its shell and the receiver.
    process.kill(-(running.pid ?? 0), "SIGKILL");
    await ended;
  }
}

beforeAll(async () => {
  await installPlatform("dynamodb");
});

test.each(
  rowsOfRun(["express", "fastify", "hono", "koa", "node", "aws-lambda"], (name) =>
    ["express", "aws-lambda"].includes(name),
  ),
)(
  "in an empty folder, what init writes for %s passes its test, starts, and handles what send sends",
  async (name) => {
    const commands = start(name);
    expect(shell("npm test")).toMatch(/^# pass 1$/m);
    expect(commands.slice(-2)[0]).toBe("npm start");
    const said = await startAndSend(commands);
    expect(said).toMatch(/200 {2}handled/);
  },
);

const PROJECTS = [
  ["CommonJS with Vitest", { devDependencies: { vitest: "4" } }, /Tests\s+1 passed/],
  ["JavaScript modules", { type: "module" }, /^# pass 1$/m],
] as const;
test.each(rowsOfRun(PROJECTS, ([what]) => what === "CommonJS with Vitest"))(
  "in a project of %s, the server that init writes for Fastify passes its test and starts",
  async (_what, packageJson, passed) => {
    const commands = start("fastify", { private: true, ...packageJson });
    const written = readFileSync(path.join(project.folder, "gateway.js"), "utf8");
    expect(written).not.toContain("import type");
    expect(shell(commands.at(-3) ?? "")).toMatch(passed);
    expect(await startAndSend(commands)).toMatch(/200 {2}handled/);
  },
);

const APPS = [
  [
    "Express in CommonJS",
    "express",
    "commonjs",
    'const express = require("express");\nconst app = express();\n',
  ],
  [
    "Koa in JavaScript modules",
    "koa",
    "module",
    'import Koa from "koa";\nconst app = new Koa();\n',
  ],
] as const;
test.each(rowsOfRun(APPS, ([what]) => what === "Express in CommonJS"))(
  "in an app of %s, the module that init writes passes its test",
  (_what, name, type, app) => {
    const commands = start(
      name,
      { private: true, type, dependencies: { [name]: "*" } },
      "memory",
      app,
    );
    const [test = ""] = commands.filter((command) => command.startsWith("node --test"));
    expect(shell(test)).toMatch(/^# pass 1$/m);
  },
);

const noServer = () => Promise.resolve({ port: 0, close: () => Promise.resolve() });
const STORES = [
  ["sqlite", true, noServer, ""],
  ["redis", hasRedisServer, startRedisServer, "REDIS_URL=redis://127.0.0.1:PORT\n"],
  [
    "postgres",
    hasPostgres,
    startPostgres,
    "DATABASE_URL=postgres://postgres@127.0.0.1:PORT/postgres\n",
  ],
  ["mysql", hasMysql, startMysql, "DATABASE_URL=mysql://root@127.0.0.1:PORT/test\n"],
] as const;
test.for(rowsOfRun(STORES, ([store]) => store === "postgres"))(
  "a server that init writes with --store %s passes its test, starts, and handles what send sends",
  async ([store, isInstalled, startServer, url], context) => {
    if (!isInstalled) {
      expect(process.env["CI"], `no server of ${store}`).not.toBe("true");
      context.skip(`no server of ${store}`);
    }
    const { port, close } = await startServer();
    try {
      const env = url.replace("PORT", String(port));
      const commands = start("node", undefined, store);
      expect(shell("npm test")).toMatch(/^# pass 1$/m);
      expect(await startAndSend(commands, env)).toMatch(/200 {2}handled/);
    } finally {
      await close();
    }
  },
);

describeService("a Worker that init writes", missingMiniflare, () => {
  test("in an empty folder, what init writes for cloudflare passes its test on workerd", () => {
    start("cloudflare");
    expect(shell("npm test")).toMatch(/^# pass 1$/m);
  });
});

test("the SAM template has the table of docs/stores/dynamodb.md and the path that the bundle is written to", () => {
  start("aws-lambda");
  const yaml = readFileSync(path.join(project.folder, "template.yaml"), "utf8");
  const template = parse(yaml, { logLevel: "silent" }) as {
    Resources: Record<string, { Properties: Record<string, unknown> }>;
  };
  const table = parse(
    readMarkdown("docs/stores/dynamodb.md").snippet("yaml", "GatewayDeliveries"),
  ) as object;
  expect(template.Resources).toMatchObject(table);
  expect(template.Resources["GatewayWebhooks"]?.Properties).toMatchObject({
    CodeUri: "dist/",
    Handler: "index.handler",
  });
  expect(FRAMEWORKS["aws-lambda"]?.host?.build).toContain("--outfile=dist/index.cjs");
});
