import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TEST_SECRET } from "../../kit/signed-delivery.js";
import { d1Schema } from "../../src/inbox/cloudflare/index.js";
import { foldersFor } from "../engines.js";
import { bundleWorker } from "../support/cloudflare/bundle-worker.js";
import { startMiniflare } from "../support/cloudflare/miniflare.js";
import { EVENT_FORMS, type EventForm } from "../support/lambda/event-forms.js";
import { deployFunction } from "../support/lambda/lambda-function.js";
import { startFront } from "../support/lambda/lambda-front.js";
import { startRedisServer } from "../support/redis/redis-server.js";
import { BUN, installedVersion, nodeProgram, pathIn } from "./install.js";
import type { Platform, RunningPlatform } from "./platform.js";
import { startServer, type ServerOptions } from "./start-server.js";

const repositoryFile = (file: string): string =>
  fileURLToPath(new URL(`../../${file}`, import.meta.url));
const hostFile = (name: string): string => readFileSync(pathIn("hosts", name), "utf8");

/** What the table shows, and what is expected of a host. */
type Described = Pick<Platform, "name" | "folder" | "needs" | "remark" | "ownAnswers">;

interface ServerRow extends Described, Omit<ServerOptions, "args" | "folder"> {
  /** The package whose installed version the table shows. Default: that of the folder's name. */
  readonly versionOf?: string;
  /** Its app in `hosts/`. Default: the file of the folder's name. */
  readonly app?: string;
  /** Where the app stands in the folder. Default `app.mjs`. */
  readonly at?: string;
  /** Default: it runs the app. */
  readonly args?: ServerOptions["args"];
  /** Other files of the folder, by their path. */
  readonly files?: Readonly<Record<string, string>>;
  /** The package that the app imports, and the one of another version in its place. */
  readonly insteadOf?: readonly [name: string, other: string];
}

/** The row of a platform that is a server. */
function serverRow({ versionOf, files, insteadOf, ...row }: ServerRow): Platform {
  const { folder, app = `${folder}.mjs`, at = "app.mjs", args = () => [at] } = row;
  const up = "../".repeat(at.split("/").length - 1) || "./";
  const [name, other] = insteadOf ?? ["", ""];
  const code = hostFile(app)
    .replace('"./receiver.mjs"', `"${up}receiver.mjs"`)
    .replace(`"${name}"`, `"${other}"`);
  return {
    ...row,
    code,
    files: { "receiver.mjs": hostFile("receiver.mjs"), ...files, [at]: code },
    version: () => installedVersion(folder, versionOf ?? folder),
    start: (ledgerUrl) => startServer({ ...row, args }, ledgerUrl),
  };
}

/** The command that bundles an app for a runtime that has no packages of its own. */
function bundling(entry: string, outfile: string, conditions: string, format = "esm") {
  const esbuild = createRequire(import.meta.url).resolve("esbuild/bin/esbuild");
  const options = ["--bundle", "--log-level=error", `--format=${format}`, `--outfile=${outfile}`];
  return [esbuild, entry, ...options, `--conditions=${conditions}`] as const;
}

/** The runtime of Cloudflare Workers with a worker of `hosts/`. */
export function workerdRow(app: string): Platform {
  const workerd = "@cloudflare/workerd-linux-64";
  return serverRow({
    name: "Cloudflare Workers (workerd)",
    folder: "workerd",
    versionOf: workerd,
    app,
    program: pathIn("workerd", `node_modules/${workerd}/bin/workerd`),
    build: bundling("app.mjs", "build/app.mjs", "workerd,worker"),
    args: (port) => ["serve", "app.capnp", `--socket-addr=http=127.0.0.1:${port}`],
    files: { "app.capnp": hostFile("workerd.capnp") },
  });
}

/** The rows of one major version of Nest, whose app is compiled to CommonJS as Nest's command line does. */
function nestRows(major: number): readonly Platform[] {
  const tsc = repositoryFile("node_modules/typescript/bin/tsc");
  const kind =
    major === 10
      ? {
          target: "ES2021",
          module: "commonjs",
          moduleResolution: "node10",
          ignoreDeprecations: "6.0",
        }
      : {
          target: "ES2023",
          module: "nodenext",
          moduleResolution: "nodenext",
          isolatedModules: true,
        };
  const compilerOptions = {
    ...kind,
    lib: ["ES2023"],
    types: ["node"],
    typeRoots: ["../../../node_modules/@types"],
    rootDir: ".",
    outDir: "build",
    strict: true,
    emitDecoratorMetadata: true,
    experimentalDecorators: true,
    esModuleInterop: true,
    skipLibCheck: true,
  };
  return (["Express", "Fastify"] as const).map((platform) =>
    serverRow({
      name: `Nest ${major} on ${platform}`,
      folder: `nest-${major}`,
      versionOf: "@nestjs/core",
      app: "nest.cts",
      at: "app.cts",
      build: [process.execPath, tsc, "-p", "."],
      args: () => ["build/app.cjs"],
      env: () => ({ NEST_PLATFORM: platform.toLowerCase() }),
      files: { "tsconfig.json": JSON.stringify({ compilerOptions, files: ["app.cts"] }) },
    }),
  );
}

const NEXT_CLI = "node_modules/next/dist/bin/next";
const NEXT_CONFIG = `const root = import.meta.dirname;
export default { turbopack: { root }, outputFileTracingRoot: root };
`;
const NEXT_PAGES_API = {
  name: "Next pages/api",
  app: "next-pages-api.mjs",
  at: "pages/api/webhooks/gateway.js",
  path: "/api/webhooks/gateway",
};
const NEXT_ROUTE = {
  name: "Next app route",
  app: "next-and-vercel.mjs",
  at: "app/webhooks/gateway/route.js",
};

/** Both kinds of routes of Next, in its development server and in a production build. */
function nextRow(
  { name, ...route }: Pick<ServerRow, "name" | "app" | "at" | "path">,
  mode: "dev" | "built",
  remark?: string,
): Platform {
  const args = [NEXT_CLI, mode === "dev" ? "dev" : "start", "--hostname", "127.0.0.1"];
  return serverRow({
    ...route,
    name: `${name}, ${mode}`,
    folder: "next",
    ...(remark === undefined ? {} : { remark }),
    ...(mode === "dev" ? {} : { build: [process.execPath, NEXT_CLI, "build"] }),
    args: (port) => [...args, "--port", String(port)],
    env: () => ({ NEXT_TELEMETRY_DISABLED: "1" }),
    files: { "next.config.mjs": NEXT_CONFIG },
  });
}

/** A build of React Router, on its own server. */
function reactRouterRow(major: number, program: string, cli: string, needs: readonly string[]) {
  return serverRow({
    name: `React Router ${major}`,
    folder: `react-router-${major}`,
    needs,
    versionOf: "react-router",
    app: "react-router.mjs",
    at: "app/routes/webhook.js",
    program,
    build: [program, `node_modules/@react-router/dev/${cli}`, "build"],
    args: () => [`node_modules/@react-router/serve/${cli}`, "build/server/index.js"],
    files: {
      "app/root.jsx": `import { Outlet } from "react-router";

export default function Root() {
  return <Outlet />;
}
`,
      "app/routes.js": `import { route } from "@react-router/dev/routes";

export default [route("webhooks/gateway", "routes/webhook.js")];
`,
      "vite.config.mjs": `import { reactRouter } from "@react-router/dev/vite";

export default { plugins: [reactRouter()] };
`,
    },
  });
}

/** A build of SvelteKit by adapter-node. Version 3 has its settings in the configuration of Vite. */
function svelteKitRow(major: 2 | 3, row: Pick<Described, "needs" | "remark" | "ownAnswers">) {
  const program = major === 2 ? process.execPath : nodeProgram(22);
  const kit = 'import { sveltekit } from "@sveltejs/kit/vite";\n';
  const adapter = 'import adapter from "@sveltejs/adapter-node";\n';
  const config: Record<string, string> =
    major === 2
      ? {
          "svelte.config.js": `${adapter}
export default { kit: { adapter: adapter(), csrf: { checkOrigin: false } } };
`,
          "vite.config.mjs": `${kit}\nexport default { plugins: [sveltekit()] };\n`,
        }
      : {
          "vite.config.mjs": `${adapter}${kit}
export default { plugins: [sveltekit({ adapter: adapter() })] };
`,
        };
  return serverRow({
    ...row,
    name: `SvelteKit ${major}`,
    folder: `sveltekit-${major}`,
    versionOf: "@sveltejs/kit",
    app: "sveltekit.mjs",
    at: "src/routes/webhooks/gateway/+server.js",
    program,
    build: [program, "node_modules/vite/bin/vite.js", "build"],
    args: () => ["build/index.js"],
    env: () => ({ BODY_SIZE_LIMIT: "1M" }),
    files: {
      ...config,
      "src/app.html": "<!doctype html>%sveltekit.head%<body>%sveltekit.body%</body>\n",
    },
  });
}

/** The row of an example with a queue, which its starter in `examples/demo/` runs on emulators. */
function exampleRow({
  example,
  starter,
  versionOf,
  tooLarge,
  ...row
}: Described & {
  readonly example: string;
  readonly starter: string;
  readonly versionOf: string;
  /** Why it refuses a body of 200 KB. */
  readonly tooLarge: string;
}): Platform {
  const args = () => ["--import", "tsx", repositoryFile(`examples/demo/${starter}`)];
  const { folder } = row;
  const code = readFileSync(repositoryFile(`examples/${example}`), "utf8");
  return {
    ...row,
    needs: foldersFor(code),
    code,
    version: () => `${versionOf} ${installedVersion(folder, versionOf)}`,
    isSeenFromOutside: true,
    ownAnswers: {
      ...row.ownAnswers,
      big_alarm: tooLarge,
      largest_body: "as `big_alarm`",
      // They also send a body of 200 KB.
      duplicate_handled_once: "as `big_alarm`",
      concurrent_duplicates_handled_once: "as `big_alarm`",
    },
    start: (ledgerUrl) => startServer({ folder, args, readyText: "listening on" }, ledgerUrl),
  };
}

/** Cloudflare Workers with D1: workerd, started by miniflare. */
async function startWorkerWithD1(ledgerUrl: string): Promise<RunningPlatform> {
  const running = await startMiniflare({
    workers: [
      {
        script: await bundleWorker(pathToFileURL(pathIn("cloudflare", "app.mjs"))),
        d1Databases: { DB: "db" },
        bindings: { GATEWAY_WEBHOOK_SECRET: TEST_SECRET, LEDGER_URL: ledgerUrl },
      },
    ],
    onOutput: () => undefined,
  });
  await (await running.getD1Database("DB")).prepare(d1Schema()).run();
  return { target: String(await running.ready), stop: () => running.dispose() };
}

/** The function on a Runtime API, behind a front that makes events of one form. */
async function startFunction(form: EventForm, ledgerUrl: string): Promise<RunningPlatform> {
  // Compiles the handler against AWS's own types. Throws with the compiler's errors.
  const tsc = repositoryFile("node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", pathIn("lambda")], {
    stdio: "pipe",
    encoding: "utf8",
  });
  const redis = await startRedisServer();
  const deployed = await deployFunction({
    source: pathIn("lambda", "function.mjs"),
    instances: 3,
    // Longer than the runner makes a handler slow. Its instances are frozen between invocations.
    timeoutMs: 10_000,
    environment: {
      GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
      LEDGER_URL: ledgerUrl,
      REDIS_URL: redis.url,
    },
    // As a partner's project has them, and not as the repository's tsconfig.json does.
    build: { tsconfigRaw: "{}" },
  });
  const front = await startFront(form, deployed.invoke);
  return {
    target: front.url,
    async stop() {
      await front.close();
      await deployed.stop();
      await redis.close();
    },
  };
}

function lambdaRow(form: EventForm): Platform {
  const code = hostFile("lambda.mjs");
  const repeats =
    "passes on only the last value of a header that was sent twice: that one is signed, or refused";
  const tooLarge = "413 to a body over 1 MB: the gateway's deliveries are far smaller";
  return {
    name: `AWS Lambda, ${form.name}`,
    folder: "lambda",
    version: () => `Node ${process.versions.node}`,
    code,
    files: { "function.mjs": code },
    ownAnswers: {
      ...(form.hidesRepeats === true ? { repeated_headers: repeats } : {}),
      ...(form.maxBodyBytes === undefined ? {} : { unlisted_statuses: tooLarge }),
    },
    start: (ledgerUrl) => startFunction(form, ledgerUrl),
  };
}

const FUNCTIONS_FRAMEWORK = "@google-cloud/functions-framework";
const NETLIFY = "@netlify/serverless-functions-api";
const NO_CONTINUE = {
  expect_continue:
    "nothing where 100 Continue is asked for, by miniflare's own server in front of the Worker",
};

/** The table of the platforms: what starts each, and what it answers itself. */
export const PLATFORMS: readonly Platform[] = [
  ...EVENT_FORMS.map(lambdaRow),
  // A row of its own, because the function answers once SQS has the delivery.
  exampleRow({
    name: "AWS Lambda with SQS",
    folder: "sqs",
    versionOf: "fauxqs",
    example: "lambda-sqs.ts",
    starter: "lambda.ts",
    tooLarge: "409 to a body over 190 kB, since a message of SQS has at most 256 KiB",
    ownAnswers: {
      non_ascii:
        "500 to characters beyond U+FFFF, which the emulator refuses and SQS takes, by its documents",
      split_characters: "as `non_ascii`",
    },
    remark: "`examples/lambda-sqs.ts` as it is, on emulators",
  }),
  serverRow({
    name: "Azure Functions",
    folder: "azure-functions",
    versionOf: "@azure/functions",
    remark: "`@azure/functions` itself, in a small host that calls it as its worker does",
    args: () => ["host.mjs"],
    files: { "host.mjs": hostFile("azure-functions-host.mjs") },
  }),
  serverRow({ name: "Bun", folder: "bun", versionOf: "@oven/bun-linux-x64", program: BUN }),
  workerdRow("workerd.mjs"),
  {
    name: "Cloudflare Workers with D1",
    folder: "cloudflare",
    ownAnswers: NO_CONTINUE,
    version: () => `miniflare ${installedVersion("cloudflare", "miniflare")}`,
    code: hostFile("cloudflare.mjs"),
    files: { "app.mjs": hostFile("cloudflare.mjs") },
    start: startWorkerWithD1,
  },
  exampleRow({
    name: "Cloudflare Workers with Queues and D1",
    folder: "cloudflare",
    versionOf: "miniflare",
    example: "workers-queues-d1.ts",
    starter: "workers.ts",
    ownAnswers: NO_CONTINUE,
    tooLarge: "409 to a body over 90 kB, since a message of Queues has at most 128 kB",
    remark: "`examples/workers-queues-d1.ts` as it is",
  }),
  serverRow({
    name: "Deno",
    folder: "deno",
    versionOf: "@deno/linux-x64-glibc",
    program: pathIn("deno", "node_modules/@deno/linux-x64-glibc/deno"),
    args: () => ["run", "--allow-all", "--node-modules-dir=manual", "app.mjs"],
  }),
  serverRow({
    name: "Edge runtime",
    folder: "edge-runtime",
    at: "api/webhook.mjs",
    remark: "bundled with the condition `edge-light`",
    build: bundling("entry.mjs", "build/webhook.js", "edge-light", "iife"),
    args: () => ["host.mjs"],
    files: {
      "host.mjs": hostFile("edge-runtime-host.mjs"),
      // What a host adds to an edge function when it bundles it.
      "entry.mjs": `import handle from "./api/webhook.mjs";

addEventListener("fetch", (event) => event.respondWith(handle(event.request, event)));
`,
    },
  }),
  serverRow({
    name: "Elysia on Bun",
    folder: "elysia",
    needs: ["bun"],
    app: "elysia-bun.mjs",
    at: "bun.mjs",
    program: BUN,
  }),
  serverRow({
    name: "Elysia on Node",
    folder: "elysia",
    app: "elysia-node.mjs",
    at: "node.mjs",
  }),
  ...[4, 5].map((major) =>
    serverRow({
      name: `Express ${major}`,
      folder: `express-${major}`,
      versionOf: "express",
      app: "express.mjs",
    }),
  ),
  serverRow({
    name: "Fastify 4",
    folder: "fastify",
    versionOf: "fastify4",
    at: "app-4.mjs",
    insteadOf: ["fastify", "fastify4"],
  }),
  serverRow({ name: "Fastify 5", folder: "fastify", at: "app-5.mjs" }),
  serverRow({
    name: "Google Cloud Functions",
    folder: "cloud-functions",
    versionOf: FUNCTIONS_FRAMEWORK,
    remark: "with `NODE_ENV=production`, or its 400 repeats a part of the body",
    ownAnswers: {
      content_types: "415 to a charset that its parser does not know",
      invalid_utf8: "400 to a body that is not JSON",
      unreadable_body: "400 to a body that is not JSON",
    },
    args: () => [
      `node_modules/${FUNCTIONS_FRAMEWORK}/build/src/main.js`,
      "--source=app.mjs",
      "--target=gatewayWebhook",
    ],
    env: () => ({ NODE_ENV: "production" }),
  }),
  serverRow({ name: "h3 1", folder: "h3-1", versionOf: "h3" }),
  serverRow({ name: "h3 2", folder: "h3-2", versionOf: "h3" }),
  serverRow({ name: "Hapi 21", folder: "hapi", versionOf: "@hapi/hapi" }),
  serverRow({ name: "Hono on Node", folder: "hono" }),
  serverRow({
    name: "Koa 2",
    folder: "koa",
    versionOf: "koa2",
    at: "app-2.mjs",
    insteadOf: ["koa", "koa2"],
  }),
  serverRow({ name: "Koa 3", folder: "koa", at: "app-3.mjs" }),
  ...[10, 11, 12].flatMap(nestRows),
  serverRow({
    name: "Netlify function",
    folder: "netlify",
    versionOf: NETLIFY,
    at: "netlify/functions/webhook.mjs",
    remark: "in the server of Netlify's runtime; their network stands in front of it",
    args: () => [`node_modules/${NETLIFY}/dist/index_server.js`],
    env: (port) => ({
      NETLIFY_PLAY_ENTRY_PATH: pathIn("netlify", "netlify/functions/webhook.mjs"),
      NETLIFY_PLAY_PORT: String(port),
    }),
  }),
  nextRow(
    NEXT_PAGES_API,
    "dev",
    "writes `API resolved without sending a response` when a sender hangs up: it does no harm",
  ),
  nextRow(NEXT_ROUTE, "dev"),
  nextRow(NEXT_PAGES_API, "built"),
  nextRow(NEXT_ROUTE, "built"),
  serverRow({
    name: "Nitro 2",
    folder: "nitro",
    versionOf: "nitropack",
    app: "nitro-and-nuxt.mjs",
    at: "routes/webhooks/gateway.mjs",
    build: [process.execPath, "node_modules/nitropack/dist/cli/index.mjs", "build"],
    args: () => [".output/server/index.mjs"],
    files: {
      "nitro.config.mjs": `import { defineNitroConfig } from "nitropack/config";

export default defineNitroConfig({
  preset: "node-server",
  compatibilityDate: "2026-01-01",
  minify: false,
  sourceMap: false,
});
`,
    },
  }),
  ...[20, 22, 24, 26].map((major) =>
    serverRow({
      name: `Node ${major}`,
      ...(major === 24 ? { remark: "Cloud Run, too: it runs a container with this server" } : {}),
      folder: "node",
      versionOf: `node${major}`,
      program: nodeProgram(major),
    }),
  ),
  serverRow({
    name: "Nuxt 4",
    folder: "nuxt",
    needs: ["node"],
    app: "nitro-and-nuxt.mjs",
    at: "server/routes/webhooks/gateway.mjs",
    program: nodeProgram(22),
    build: [nodeProgram(22), "node_modules/nuxt/bin/nuxt.mjs", "build"],
    args: () => [".output/server/index.mjs"],
    files: {
      "nuxt.config.mjs":
        'export default defineNuxtConfig({ telemetry: false, compatibilityDate: "2026-01-01" });\n',
    },
  }),
  serverRow({ name: "Polka", folder: "polka" }),
  reactRouterRow(7, process.execPath, "bin.js", []),
  reactRouterRow(8, nodeProgram(22), "bin.cjs", ["node"]),
  svelteKitRow(2, {
    remark: "built by adapter-node, with `BODY_SIZE_LIMIT=1M` and `csrf.checkOrigin: false`",
  }),
  svelteKitRow(3, {
    needs: ["node"],
    remark: "built by adapter-node, with `BODY_SIZE_LIMIT=1M`",
    ownAnswers: {
      content_types: "403 to a request without a Content-Type, by its CSRF check",
      form_content_types: "403 to forms of another origin, by its CSRF check",
    },
  }),
  serverRow({
    name: "Vercel function",
    folder: "vercel",
    versionOf: "@edge-runtime/node-utils",
    app: "next-and-vercel.mjs",
    at: "api/webhook.mjs",
    remark:
      "in a small host with the conversion that `vercel dev` uses (`@edge-runtime/node-utils`)",
    args: () => ["host.mjs"],
    files: { "host.mjs": hostFile("vercel-host.mjs") },
  }),
];
