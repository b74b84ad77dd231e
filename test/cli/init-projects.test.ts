import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

interface Shape {
  readonly name: string;
  readonly package: object;
  readonly files: Readonly<Record<string, string>>;
  /** The folder of the package, in a monorepo. */
  readonly at?: string;
  readonly argv?: string;
  readonly written: readonly string[];
  /** What a written file has. */
  readonly has?: Readonly<Record<string, readonly string[]>>;
  readonly says: readonly string[];
}

const JEST = { jest: "30" };
const APP = 'const app = express();\napp.use(express.json());\napp.get("/", home);\n';
const ESM_APP = `import express from "express";\nimport { home } from "./home.js";\n${APP}`;

const SHAPES: readonly Shape[] = [
  {
    name: "Express in CommonJS with Jest",
    package: { dependencies: { express: "5" }, devDependencies: JEST },
    files: {
      "src/app.js": `const express = require("express");\nconst { home } = require("./home");\n${APP}`,
    },
    written: ["src/gateway.js", "src/gateway.test.js"],
    has: {
      "src/gateway.js": [
        'const { expressHandler } = require("identity-gateway-webhooks/express")',
        "module.exports = { gatewayReceiver, gateway };",
      ],
      "src/gateway.test.js": ["@jest-environment node", "proof, 180_000);", 'require("./gateway")'],
    },
    says: [
      "Mount it in src/app.js, above line 4, app.use(express.json());:",
      '  const { gateway } = require("./gateway");\n  app.all("/webhooks/gateway", gateway());\n',
      "npx jest src/gateway.test.js",
    ],
  },
  {
    name: "Express in JavaScript modules",
    package: { type: "module", dependencies: { express: "5" } },
    files: { "server.js": ESM_APP },
    written: ["gateway.js", "gateway.test.js"],
    says: [
      '  import { gateway } from "./gateway.js";\n',
      "node --test gateway.test.js",
      "npm install identity-gateway-webhooks\n",
    ],
  },
  {
    name: "Express in TypeScript that compiles to CommonJS, with Jest and a pnpm lock",
    package: {
      dependencies: { express: "5" },
      devDependencies: { ...JEST, "@types/jest": "30", typescript: "5" },
    },
    files: {
      "tsconfig.json": '{ "compilerOptions": { "module": "commonjs", "rootDir": "src" } }',
      "pnpm-lock.yaml": "",
      "src/app.ts": ESM_APP.replace("home.js", "home").replace("const app", "export const server"),
      "test/app.spec.ts": "",
    },
    written: ["src/gateway.ts", "test/gateway.spec.ts"],
    has: { "test/gateway.spec.ts": ['from "../src/gateway";'] },
    says: [
      'from "./gateway";\n  server.all(',
      "pnpm add identity",
      "pnpm exec jest test/gateway.spec.ts",
      "pnpm exec identity-gateway-webhooks send",
    ],
  },
  {
    name: "Fastify in TypeScript with rootDir src and a yarn lock",
    package: {
      type: "module",
      dependencies: { fastify: "5" },
      devDependencies: { typescript: "5", vitest: "4" },
    },
    files: {
      "tsconfig.json": '{ "compilerOptions": { "module": "nodenext", "rootDir": "./src" } }',
      "yarn.lock": "",
      "src/server.ts": 'import Fastify from "fastify";\nconst web = Fastify({ logger: true });\n',
    },
    written: ["src/gateway.ts", "src/gateway.test.ts"],
    has: {
      "src/gateway.ts": ["export async function gateway(app: FastifyInstance)"],
      "src/gateway.test.ts": ['from "./gateway.js"', 'from "vitest"'],
    },
    says: [
      'from "./gateway.js";\n  web.register(gateway);',
      "yarn add identity",
      "yarn vitest run src/gateway.test.ts",
    ],
  },
  {
    name: "a package of a monorepo with Jest in its root",
    at: "packages/api",
    package: { dependencies: { koa: "3" } },
    files: {
      "../../package.json": JSON.stringify({ workspaces: ["packages/*"], devDependencies: JEST }),
      "../../package-lock.json": "{}",
      "lib/app.js": 'const Koa = require("koa");\nconst app = new Koa();\napp.use(koaBody());\n',
    },
    written: ["lib/gateway.js", "lib/gateway.test.js"],
    says: [
      "(cd '../..' && npx jest packages/api/lib/gateway.test.js)",
      "above line 3, app.use(koaBody());",
    ],
  },
  {
    name: "Hono in TypeScript with Vitest",
    package: {
      type: "module",
      dependencies: { hono: "4" },
      devDependencies: { vitest: "4", typescript: "5" },
    },
    files: {
      "tsconfig.json": '{ "compilerOptions": { "moduleResolution": "bundler" } }',
      "src/index.ts": 'import { a } from "./a";\nconst app = new Hono();\n',
    },
    written: ["src/gateway.ts", "src/gateway.test.ts"],
    says: ['from "./gateway";\n  app.all(', "npx vitest run src/gateway.test.ts"],
  },
  {
    name: "Nest with Jest",
    package: {
      dependencies: { "@nestjs/core": "11", express: "5" },
      devDependencies: { ...JEST, typescript: "5" },
    },
    files: {
      "tsconfig.json": "{}",
      "src/app.module.ts": 'import { A } from "./a";\n@Module({})\nexport class AppModule {}\n',
      "src/a.spec.ts": "",
    },
    written: ["src/gateway.module.ts", "src/gateway.spec.ts"],
    has: { "src/gateway.spec.ts": ["NestFactory.create(GatewayModule", "await app.close();"] },
    says: [
      'Mount it in src/app.module.ts:\n  import { GatewayModule } from "./gateway.module";\n  imports: [GatewayModule]  // and app.enableShutdownHooks() in main.ts, so running handlers end\n',
    ],
  },
  {
    name: "Next with the App Router, in TypeScript",
    package: { dependencies: { next: "16" }, devDependencies: { typescript: "5" } },
    files: { "tsconfig.json": "{}", "src/app/page.tsx": "" },
    written: ["src/gateway.ts", "src/gateway.test.ts", "src/app/webhooks/gateway/route.ts"],
    has: {
      "src/app/webhooks/gateway/route.ts": [
        'import { gateway } from "../../../gateway";',
        "export const POST = gateway();",
      ],
    },
    says: ["npm install --save-dev tsx @types/node"],
  },
  {
    name: "Next with the App Router, in JavaScript",
    package: { dependencies: { next: "16" } },
    files: { "app/page.js": "" },
    written: ["gateway.mjs", "gateway.test.mjs", "app/webhooks/gateway/route.js"],
    has: { "app/webhooks/gateway/route.js": ['from "../../../gateway.mjs"'] },
    says: ["node --test gateway.test.mjs"],
  },
  {
    name: "SvelteKit in JavaScript",
    package: { type: "module", devDependencies: { "@sveltejs/kit": "2" } },
    files: { "src/routes/+page.svelte": "" },
    written: ["src/gateway.js", "src/gateway.test.js", "src/routes/webhooks/gateway/+server.js"],
    has: {
      "src/routes/webhooks/gateway/+server.js": [
        "export const POST = ({ request }) => handle(request);",
      ],
    },
    says: ["send http://localhost:5173/webhooks/gateway"],
  },
  {
    name: "a server of plain Node, with a gateway.js of its own and its own .env.example",
    package: { type: "module" },
    files: {
      "index.js": 'import http from "node:http";\nhttp.createServer(listen).listen(1);\n',
      "gateway.js": "",
      ".env.example": "A=1\n",
    },
    argv: "--framework node",
    written: ["gateway-webhooks.js", "gateway-webhooks.test.js"],
    says: ['from "./gateway-webhooks.js"', "# then add GATEWAY_WEBHOOK_SECRET=… to .env"],
  },
  {
    name: "a project without an app, in CommonJS TypeScript with rootDir src",
    package: { devDependencies: { typescript: "5", express: "5" } },
    files: { "tsconfig.json": '{ "compilerOptions": { "rootDir": "src" } }', "src/main.ts": "" },
    written: ["src/gateway.ts", "src/gateway.test.ts"],
    has: { "src/gateway.test.ts": ['"src/gateway.ts"'] },
    says: [
      "node --import tsx --test src/gateway.test.ts",
      "node --env-file=.env --import tsx src/gateway.ts",
    ],
  },
  {
    name: "Express with --store postgres",
    package: { type: "module", dependencies: { express: "5", pg: "8" } },
    files: { "app.js": ESM_APP },
    argv: "--store postgres",
    written: ["gateway.js", "gateway.test.js"],
    has: {
      "gateway.js": ["store = openStore().store", "function openStore() {"],
      "gateway.test.js": ["gatewayReceiver({ secret: TEST_SECRET })"],
    },
    says: ["npm install identity-gateway-webhooks\n"],
  },
];

test.each(SHAPES)("init in $name follows the project", async (shape) => {
  const { at = "", files, argv = "", written, has = {}, says } = shape;
  const inProject = (file: string): string => `${at === "" ? "" : `${at}/`}${file}`;
  folder.write(inProject("package.json"), JSON.stringify(shape.package));
  for (const [file, text] of Object.entries(files)) folder.write(inProject(file), text);
  const words = ["init", folder.at(inProject("")), "--yes", ...argv.split(" ").filter(Boolean)];
  const { stdout } = await expectEnd(runCommand(words), { code: 0, stderr: "" });
  const news = Array.from(stdout.matchAll(/^\+ (.*)$/gm), ([, file = ""]) => file);
  expect(news.filter((file) => file.includes("gateway")).sort()).toEqual([...written].sort());
  for (const said of says) expect(stdout).toContain(said);
  for (const file of written) {
    const text = readFileSync(folder.at(inProject(file)), "utf8");
    expect(text, file).not.toMatch(/examples\/|module\.js|init` writes/);
    for (const part of has[file] ?? []) expect(text, file).toContain(part);
    if (/\.[cm]?js$/.test(file))
      expect(text, file).not.toMatch(/\): \w|<\w+>\(|import type|: string/);
  }
  for (const [file, text] of Object.entries(files)) {
    expect(readFileSync(folder.at(inProject(file)), "utf8"), file).toBe(text);
  }
});

test.each([
  ["Hapi", { dependencies: { "@hapi/hapi": "21" } }, {}, "docs/frameworks.md has others"],
  [
    "Next with the Pages Router",
    { dependencies: { next: "16" } },
    { "pages/index.js": "" },
    "docs/frameworks.md has the files",
  ],
  [
    "Nest without a module",
    { dependencies: { "@nestjs/core": "11" } },
    {},
    "docs/nestjs.md has the files",
  ],
  [
    "a Worker of its own",
    { devDependencies: { wrangler: "4" } },
    { "src/index.js": "" },
    "src/index.js is there and is no receiver",
  ],
  [
    "a Worker with its own configuration",
    { devDependencies: { wrangler: "4" } },
    { "wrangler.jsonc": "{}" },
    "wrangler.jsonc is there",
  ],
  [
    "both names taken",
    { dependencies: { express: "5" } },
    { "app.js": APP, "gateway.js": "", "gateway-webhooks.js": "" },
    "gateway and gateway-webhooks are files of your own",
  ],
] as const)(
  "in a project of %s init writes nothing and names the page",
  async (_name, found, files, stderr) => {
    folder.write("package.json", JSON.stringify(found));
    for (const [file, text] of Object.entries(files)) folder.write(file, text);
    await expectEnd(runCommand(["init", folder.at(), "--yes"]), { code: 2, stdout: "", stderr });
  },
);
