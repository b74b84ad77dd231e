import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import type { LambdaResult } from "../../adapters/aws-lambda/http-event.js";
import { createDynamoTable } from "../../src/stores/dynamodb/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { openSdkClient, startDynalite } from "../support/dynamodb/dynamodb.js";
import { freePort } from "../support/free-port.js";
import { EVENT_FORMS } from "../support/lambda/event-forms.js";
import { runFunction } from "../support/lambda/lambda-function.js";
import { freshAlarm, freshEvent, requestOf } from "../support/package/example-process.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";
import { installPlatform } from "../support/platform-packages.js";

const PAGE = readMarkdown("docs/aws-lambda.md");
const CODE = PAGE.snippet("ts", "// index.ts");
const missing = spawnSync("zip", ["--version"]).status === 0 ? undefined : "zip is not on PATH";

const partner = partnerProject("esbuild");

beforeAll(async () => {
  await installPlatform("dynamodb");
  const project = partner();
  for (const tool of ["@aws-sdk", "dynalite"]) project.borrow(tool, "test/platforms/dynamodb");
  // As `npm init -y` writes it.
  project.write("package.json", '{ "name": "function", "version": "1.0.0", "type": "commonjs" }');
  project.write("index.ts", CODE);
});

/** Runs the page's command that bundles the function. */
function bundle(): void {
  const commands = PAGE.snippet("sh", "npx esbuild").split("\n");
  const [, , ...options] =
    commands.find((line) => line.startsWith("npx esbuild"))?.split(" ") ?? [];
  const esbuild = path.join(REPOSITORY, "node_modules/.bin/esbuild");
  execFileSync(esbuild, [...options, "--log-level=error"], { cwd: partner().folder });
}

test("the function of docs/aws-lambda.md has at most ten lines besides imports and closing brackets, and compiles", () => {
  const lines = CODE.split("\n").filter((line) => !/^(import |\/\/|[\s(){},;]*$)/.test(line));
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.length).toBeLessThanOrEqual(10);
  partner().write("function.ts", CODE);
  expect(partner().compile(["function.ts"])).toBe("");
});

test("a new user's function runs on the user's machine by docs/aws-lambda.md alone, also after a broken upload", async () => {
  bundle();
  const ports = { 3000: await freePort(), 8000: await freePort() };
  const atPorts = (text: string): string =>
    text.replaceAll("3000", String(ports[3000])).replaceAll("8000", String(ports[8000]));
  partner().write("local.mjs", atPorts(PAGE.snippet("js", "// local.mjs")));
  const [, secret = ""] =
    /GATEWAY_WEBHOOK_SECRET=(\S+) node local\.mjs/.exec(PAGE.snippet("sh", "node local.mjs")) ?? [];
  const env = { PATH: process.env["PATH"], GATEWAY_WEBHOOK_SECRET: secret };
  const local = spawn(process.execPath, ["local.mjs"], { cwd: partner().folder, env });
  const ended = once(local, "exit");
  let output = "";
  for (const stream of [local.stdout, local.stderr]) {
    stream.on("data", (text: Buffer) => (output += text.toString()));
  }
  try {
    await expect.poll(() => output).toContain("ready");
    const cli = path.join(partner().folder, "node_modules/identity-gateway-webhooks/dist/cli.js");
    const commands = atPorts(PAGE.snippet("sh", "send http://127.0.0.1"))
      .replaceAll("npx identity-gateway-webhooks", `'${process.execPath}' '${cli}'`)
      .replace("doctor", "doctor --only broken_upload --only event");
    const said = await promisify(execFile)("bash", ["-euc", commands], { cwd: partner().folder });
    expect(said.stdout).toContain("handled");
    expect(output).toMatch(/^[0-9a-f-]{36}: email_hacked$/m);
    expect(output).toMatch(/^aborted$/m);
    expect(local.exitCode).toBeNull();
  } finally {
    local.kill();
    await ended;
  }
});

describeService("a new user's function, from docs/aws-lambda.md alone", missing, () => {
  test("the function is bundled and zipped by the commands of the page, and handles its first delivery", async () => {
    bundle();
    const [, zip = ""] = /`zip ([^`]+)`/.exec(PAGE.text) ?? [];
    execFileSync("zip", zip.split(" "), { cwd: partner().folder });
    // A folder outside of every project, as on Lambda.
    const deployed = `${partner().folder}-deployed`;
    mkdirSync(deployed);
    const archive = path.join(partner().folder, zip.split(" ")[1] ?? "");
    execFileSync("unzip", ["-q", archive, "-d", deployed]);

    const database = await startDynalite({ inMemory: true });
    const client = await openSdkClient(database.url);
    await createDynamoTable({ client });
    const running = await runFunction({
      file: path.join(deployed, "index.cjs"),
      instances: 1,
      timeoutMs: 25_000,
      environment: {
        GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
        AWS_REGION: "eu-central-1",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
        AWS_ENDPOINT_URL_DYNAMODB: database.url,
      },
    });
    try {
      const sent = await freshAlarm();
      for (const [at, { eventOf, answerOf }] of EVENT_FORMS.entries()) {
        const result = (await running.invoke(eventOf(requestOf(sent)))) as LambdaResult;
        const outcome = at === 0 ? "handled" : "duplicate";
        expect(answerOf(result)).toMatchObject({ status: 200, body: `{"outcome":"${outcome}"}` });
      }
      const event = await freshEvent("DATA_DELETED");
      const result = await running.invoke(EVENT_FORMS[0]?.eventOf(requestOf(event)) ?? {});
      expect(result).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' });
      expect(running.instances[0]?.output()).toContain("email_hacked");
      expect(running.instances[0]?.output()).toContain(`${event.id}: DATA_DELETED`);
    } finally {
      await running.stop();
      client.destroy();
      await database.close();
      execFileSync("rm", ["-r", deployed]);
    }
  });
});

/** What only the code of other platforms and stores has. */
const FOREIGN = {
  "the Node adapters": "prependListener",
  "the Fetch adapters": "new ReadableStream",
  Express: "app.use(express.json())",
  Hono: "Mount honoHandler",
  "the stores in SQL": "CREATE TABLE",
  Redis: "redis_unavailable",
  "the inbox": "unreadable_job",
  "the testing kit": "receiverConformance",
  "Web Crypto": "crypto.subtle.importKey",
};

test("the bundle of a function with the memory store holds nothing of another platform", async () => {
  const contents = `
      import { createWebhookReceiver, memoryStore } from "identity-gateway-webhooks";
      import { lambdaHandler } from "identity-gateway-webhooks/aws-lambda";
      exports.handler = lambdaHandler(createWebhookReceiver({ store: memoryStore() }));`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: partner().folder },
    bundle: true,
    write: false,
    format: "cjs",
    platform: "node",
    logLevel: "error",
  });
  const code = outputFiles[0]?.text ?? "";
  expect(code).toContain("no_http_event");
  const dist = path.join(partner().folder, "node_modules/identity-gateway-webhooks/dist");
  const names = readdirSync(dist, { recursive: true, encoding: "utf8" });
  const files = names.filter((file) => file.endsWith(".js"));
  const all = files.map((file) => readFileSync(path.join(dist, file), "utf8")).join("\n");
  for (const [platform, text] of Object.entries(FOREIGN)) {
    expect(all, platform).toContain(text);
    expect(code, platform).not.toContain(text);
  }
});
