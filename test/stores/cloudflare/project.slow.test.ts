import path from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TEST_SECRET } from "../../../kit/index.js";
import { bundleWorker } from "../../support/cloudflare/bundle-worker.js";
import {
  missingMiniflare,
  startMiniflare,
  type Miniflare,
} from "../../support/cloudflare/miniflare.js";
import { describeService } from "../../support/describe-service.js";
import { freshAlarm, freshEvent } from "../../support/package/example-process.js";
import {
  REPOSITORY,
  installPackage,
  type InstalledPackage,
} from "../../support/package/installed-package.js";
import { readMarkdown } from "../../support/package/markdown.js";
import { textOf } from "../../support/package/sources.js";

const PAGE = readMarkdown("docs/cloudflare.md");
const PROJECT = "test/platforms/cloudflare/project";

const projectFile = (file: string) => textOf(`${PROJECT}/${file}`);

it("docs/cloudflare.md has the files of the project that the tests run", () => {
  expect(PAGE.snippet("jsonc", '"d1_databases"')).toBe(projectFile("wrangler.jsonc"));
  expect(PAGE.snippet("js", "store.purge")).toBe(projectFile("src/index.js"));
});

it("the migration of docs/cloudflare.md is the SQL file of the package", () => {
  expect(projectFile("migrations/0001_gateway_deliveries.sql")).toBe(textOf("sql/d1.sql"));
});

it("the Worker of docs/cloudflare.md has twelve lines of code", () => {
  const lines = projectFile("src/index.js").split("\n");
  const own = lines.filter((line) => !line.startsWith("import ") && /[^\s(){},;]/.test(line));
  expect(own).toHaveLength(12);
});

describeService("the project of docs/cloudflare.md", missingMiniflare, () => {
  let project: InstalledPackage;
  let script: string;
  let running: Miniflare;

  beforeAll(async () => {
    project = installPackage("module");
    project.write("src/index.js", PAGE.snippet("js", "store.purge"));
    script = await bundleWorker(pathToFileURL(path.join(project.folder, "src/index.js")));
    running = await startMiniflare({
      workers: [
        {
          script,
          d1Databases: { DB: "db" },
          bindings: { GATEWAY_WEBHOOK_SECRET: TEST_SECRET },
        },
      ],
      onOutput: (text) => (output += text),
    });
  });
  afterAll(async () => {
    await running.dispose();
    project.remove();
  });

  let output = "";
  const post = async (sent: Awaited<ReturnType<typeof freshAlarm>>): Promise<unknown> => {
    const answer = await running.dispatchFetch("http://worker/", sent);
    return [answer.status, await answer.json()];
  };

  it("the Worker of the documents names the command of a missing migration", async () => {
    const [status] = (await post(await freshAlarm())) as [number];
    expect(status).toBe(503);
    await expect.poll(() => output).toContain("wrangler d1 migrations apply <database> --remote");
  });

  it("the Worker of the documents handles a delivery once after its migration", async () => {
    const database = await running.getD1Database("DB");
    await database.prepare(projectFile("migrations/0001_gateway_deliveries.sql")).run();
    const sent = await freshAlarm();
    expect(await post(sent)).toEqual([200, { outcome: "handled" }]);
    expect(await post(sent)).toEqual([200, { outcome: "duplicate" }]);
    await expect.poll(() => output).toContain(`${sent.id}: email_hacked, severity High`);
  });

  it("the Worker of the documents handles an Online Data event", async () => {
    const sent = await freshEvent("DATA_DELETED");
    expect(await post(sent)).toEqual([200, { outcome: "handled" }]);
    await expect.poll(() => output).toContain(`${sent.id}: DATA_DELETED`);
  });

  it("the cron trigger of the documents deletes expired rows", async () => {
    const database = await running.getD1Database("DB");
    await database.prepare("INSERT INTO gateway_deliveries VALUES ('old', NULL, NULL, 0, 1)").run();
    await (await running.getWorker()).scheduled({ cron: "17 * * * *" });
    const old = database.prepare("SELECT key FROM gateway_deliveries WHERE key = ?").bind("old");
    await expect.poll(async () => (await old.all()).results).toEqual([]);
  });

  it("the Worker of the documents compiles with @cloudflare/workers-types", () => {
    const inTypeScript = projectFile("src/index.js").replace(
      /};\n$/,
      "} satisfies ExportedHandler<Env>;\n",
    );
    project.write("src/index.ts", inTypeScript);
    project.write(
      "src/env.d.ts",
      `declare namespace Cloudflare { interface Env { DB: D1Database; GATEWAY_WEBHOOK_SECRET: string } }
      interface Env extends Cloudflare.Env {}`,
    );
    project.copy("test/platforms/cloudflare/d1-types.test-d.ts", "src/d1-types.test-d.ts");
    const packages = path.join(REPOSITORY, "test/platforms/cloudflare/node_modules");
    const options = {
      module: "esnext",
      moduleResolution: "bundler",
      typeRoots: [packages],
      types: ["@cloudflare/workers-types"],
      skipLibCheck: true,
    };
    const files = ["src/index.ts", "src/env.d.ts", "src/d1-types.test-d.ts"];
    expect(project.typeCheck(options, files)).toBe("");
  });

  it("the Worker's bundle has nothing of other platforms, in less than 43.5 kB", async () => {
    const imports = script.matchAll(/\b(?:from|import\()\s*"([^"]+)"/g);
    expect(Array.from(imports, ([, name]) => name)).toEqual(["cloudflare:workers"]);
    const others = /pragma|pg_|FOR UPDATE|EVALSHA|SKIP LOCKED|ConditionExpression|isBase64Encoded/i;
    expect(others.exec(script)?.[0]).toBeUndefined();
    const entry = pathToFileURL(path.join(project.folder, "src/index.js"));
    const bytes = brotliCompressSync(await bundleWorker(entry, true)).length;
    process.stdout.write(`the Worker with d1Store: ${bytes} bytes, brotli\n`);
    expect(bytes).toBeLessThan(43_500);
  });
});
