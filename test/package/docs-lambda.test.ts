import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LambdaResult } from "../../adapters/aws-lambda/index.js";
import { linesOf } from "../../src/testing/sending/wire.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { EVENT_FORMS } from "../support/lambda/event-forms.js";
import { runFunction } from "../support/lambda/lambda-function.js";
import { freshAlarm } from "../support/package/example-process.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { installForPartner, type PartnerProject } from "../support/package/partner-project.js";
import { hasRedisServer, startRedisServer } from "../support/redis/redis-server.js";

const PAGE = readMarkdown("docs/aws-lambda.md");
const CODE = PAGE.snippet("ts", "// index.ts");
const hasZip = spawnSync("zip", ["--version"]).status === 0;
const missing = hasZip && hasRedisServer ? undefined : "zip or redis-server is not on PATH";

let project: PartnerProject;

beforeAll(() => {
  project = installForPartner();
  for (const tool of ["ioredis", "esbuild"]) project.borrow(tool);
});

afterAll(() => {
  project.remove();
});

test("the function of docs/aws-lambda.md has at most ten lines of code and compiles", () => {
  const lines = CODE.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("//"));
  expect(lines.length).toBeLessThanOrEqual(10);
  expect(project.compile([CODE])).toBe("");
});

describeService("a new user's function, from docs/aws-lambda.md alone", missing, () => {
  test("the function is bundled and zipped by the commands of the page, and handles its first delivery", async () => {
    project.write("index.ts", CODE);
    const commands = PAGE.snippet("sh", "npx esbuild").split("\n");
    const esbuild = path.join(REPOSITORY, "node_modules/.bin/esbuild");
    const bundle = commands.find((line) => line.startsWith("npx esbuild"))?.split(" ") ?? [];
    const zip = commands.find((line) => line.startsWith("zip "))?.split(" ") ?? [];
    execFileSync(esbuild, [...bundle.slice(2), "--log-level=error"], { cwd: project.folder });
    execFileSync("zip", zip.slice(1), { cwd: project.folder });
    // A folder outside of every project, as on Lambda.
    const deployed = path.join(project.folder, "..", `${path.basename(project.folder)}-deployed`);
    mkdirSync(deployed);
    execFileSync("unzip", ["-q", path.join(project.folder, zip[1] ?? ""), "-d", deployed]);

    const redis = await startRedisServer();
    const running = await runFunction({
      ...{ file: path.join(deployed, "index.js"), instances: 1, timeoutMs: 25_000 },
      environment: { GATEWAY_WEBHOOK_SECRET: TEST_SECRET, REDIS_URL: redis.url },
    });
    try {
      const { method, headers, body } = await freshAlarm();
      const request = { method, headers: linesOf(headers), body: Buffer.from(body) };
      for (const [at, { eventOf, answerOf }] of EVENT_FORMS.entries()) {
        const result = (await running.invoke(eventOf(request))) as LambdaResult;
        const outcome = at === 0 ? "handled" : "duplicate";
        expect(answerOf(result)).toMatchObject({ status: 200, body: `{"outcome":"${outcome}"}` });
      }
      expect(running.instances[0]?.output()).toContain("email_hacked");
    } finally {
      await running.stop();
      await redis.close();
      execFileSync("rm", ["-r", deployed]);
    }
  });
});

describe("the bundle of a function", () => {
  const bundleOf = async (imports: string): Promise<string> => {
    const { outputFiles } = await build({
      stdin: { contents: imports, resolveDir: project.folder },
      ...{ bundle: true, write: false, format: "cjs", platform: "node", logLevel: "error" },
    });
    return outputFiles[0]?.text ?? "";
  };
  /** What only the code of other platforms and stores has. */
  const FOREIGN = {
    "the Node adapters": "prependListener",
    "the Fetch adapters": "new ReadableStream",
    Express: "app.use(express.json())",
    Hono: "Mount honoHandler",
    "the stores in SQL": "CREATE TABLE",
    Redis: "RedisUnavailableError",
    "the inbox": "DeadJobError",
    "the testing kit": "receiverConformance",
    "Web Crypto": "crypto.subtle.importKey",
  };

  test("the bundle of a function with the memory store holds nothing of another platform", async () => {
    const code = await bundleOf(`
      import { createWebhookReceiver, memoryStore } from "identity-gateway-webhooks";
      import { lambdaHandler } from "identity-gateway-webhooks/aws-lambda";
      exports.handler = lambdaHandler(createWebhookReceiver({ store: memoryStore() }));`);
    expect(code).toContain("no_http_event");
    const found = Object.entries(FOREIGN).filter(([, text]) => code.includes(text));
    expect(found).toEqual([]);
  });

  test("the search for other platforms finds each of them in the package", () => {
    const dist = path.join(project.folder, "node_modules/identity-gateway-webhooks/dist");
    const files = execFileSync("find", [dist, "-name", "*.js"], { encoding: "utf8" });
    const all = files.trim().split("\n");
    const code = all.map((file) => readFileSync(file, "utf8")).join("\n");
    const absent = Object.entries(FOREIGN).filter(([, text]) => !code.includes(text));
    expect(absent).toEqual([]);
  });
});
