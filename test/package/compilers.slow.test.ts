import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { FRAMEWORKS } from "../../cli/init-files.js";
import { STORES } from "../../cli/init-stores.js";
import { ENTRIES } from "../../release/entries.js";
import { ENGINES } from "../engines.js";
import { DOCUMENTS } from "../support/package/documents.js";
import { NEWEST_TSC, OLDEST_TSC, REPOSITORY } from "../support/package/installed-package.js";
import { readMarkdown } from "../support/package/markdown.js";
import { partnerProject } from "../support/package/partner-project.js";
import { installPlatform } from "../support/platform-packages.js";
import { openOrm } from "../stores/sql/orms/orm.js";

/** What the code imports that the repository itself does not have. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "test/stores/sql/orms": [
    "@mikro-orm/postgresql",
    "@prisma/adapter-pg",
    "@prisma/client",
    "drizzle-orm",
    "knex",
    "kysely",
    "postgres",
    "sequelize",
    "typeorm",
  ],
  "test/platforms/nest-11": ["@nestjs/testing"],
};
/** Its snippets are files of one Nest project: nestjs.slow.test.ts compiles them. */
const OWN_PROJECT = "docs/nestjs.md";
const CLI = "node_modules/identity-gateway-webhooks/dist/cli.js";
const isInstalled = (name: string) => existsSync(path.join(REPOSITORY, "node_modules", name));
const PEERS = ENTRIES.flatMap(({ engine, peers = [] }) =>
  peers.flatMap(({ names, engine: own = engine }) =>
    names.map((name) => ({ name, folder: `test/platforms/${ENGINES[own ?? ""]?.folder ?? ""}` })),
  ),
);
const partner = partnerProject(
  ...PEERS.map(({ name }) => name).filter(isInstalled),
  "@hono/node-server",
  "@nats-io/nats-core",
  "@types/koa",
  "@types/pg",
);

/** Apps that are there, for which `init` writes a module or a route. */
const APPS: readonly (readonly [framework: string, file: string, code?: string])[] = [
  ["express", "app.ts", "export const app = express();\n"],
  ["fastify", "app.ts", "export const app = fastify();\n"],
  ["hono", "app.ts", "export const app = new Hono();\n"],
  ["koa", "app.ts", "export const app = new Koa();\n"],
  ["node", "app.ts", "export const server = createServer();\n"],
  ["nestjs", "src/app.module.ts", "@Module({})\nexport class AppModule {}\n"],
  ["next", "app/layout.tsx"],
  ["sveltekit", "src/routes/+page.svelte"],
];

/** The declarations of drivers and frameworks, which do not all compile on the oldest. */
const OF_OTHERS = /node_modules\/(?!identity-gateway-webhooks\/)/;

/** Of frameworks whose bundler finds a module without its extension. */
const BUNDLED = /^app-(?:next|sveltekit)/;

/** Every file that is compiled, and where its code comes from. */
const files: { file: string; from: string }[] = [];

function add(from: string, code: string): void {
  const file = `compiled-${String(files.length)}.ts`;
  partner().write(file, `${code}\nexport {};\n`);
  files.push({ file, from });
}

/** Runs `init` in a folder of the partner's project, and adds what it writes in TypeScript. */
function addWritten(folder: string, argv: string): void {
  const output = partner().node([CLI, "init", folder, ...argv.split(" "), "--yes"]);
  for (const [, file = ""] of output.matchAll(/^\+ (\S+\.ts)$/gm)) {
    files.push({ file: path.join(folder, file), from: `init ${argv}` });
  }
}

beforeAll(async () => {
  await installPlatform("typescript-7");
  const elsewhere = PEERS.filter(({ name }) => !isInstalled(name));
  for (const { name, folder } of elsewhere) partner().borrow(name, folder);
  for (const [folder, names] of Object.entries(ELSEWHERE)) {
    for (const name of names) partner().borrow(name, folder);
  }
  // Its types are generated.
  await openOrm("prisma", "postgres", {}).then((prisma) => prisma.close());
  for (const document of DOCUMENTS.filter((file) => file !== OWN_PROJECT)) {
    for (const code of readMarkdown(document).snippets("ts")) add(document, code);
  }
  for (const name of readdirSync("examples").filter((file) => file.endsWith(".ts"))) {
    partner().write(`examples/${name}`, readFileSync(`examples/${name}`, "utf8"));
    files.push({ file: `examples/${name}`, from: `examples/${name}` });
  }
  for (const name of ["express", "fastify", "hono", "koa", "node", "aws-lambda"]) {
    addWritten(`new-${name}`, `--framework ${name}`);
  }
  for (const store of Object.keys(STORES)) {
    addWritten(`store-${store}`, `--framework express --store ${store}`);
  }
  for (const [name, app = "", code = ""] of APPS) {
    partner().write(
      `app-${name}/package.json`,
      JSON.stringify({
        type: "module",
        dependencies: { [FRAMEWORKS[name]?.knownBy ?? name]: "*" },
        devDependencies: { typescript: "*" },
      }),
    );
    partner().write(`app-${name}/tsconfig.json`, '{ "compilerOptions": { "module": "nodenext" } }');
    partner().write(`app-${name}/${app}`, code);
    addWritten(`app-${name}`, `--framework ${name}`);
  }
});

test.each([
  ["oldest", OLDEST_TSC],
  ["newest", NEWEST_TSC],
])(
  "every snippet, every example and every file that init writes compiles on the %s TypeScript",
  (_which, tsc) => {
    expect(files.length).toBeGreaterThanOrEqual(100);
    const names = (isBundled: boolean) =>
      files.map(({ file }) => file).filter((file) => BUNDLED.test(file) === isBundled);
    const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true };
    const bundler = { module: "esnext", moduleResolution: "bundler" };
    const ours = (output: string) =>
      output.split("\n").filter((line) => line.includes(" error TS") && !OF_OTHERS.test(line));
    const errors = ours(partner().compile(names(false), tsc, decorators));
    const from = files.filter(({ file }) => errors.some((line) => line.includes(file)));
    expect(errors, JSON.stringify(from)).toEqual([]);
    expect(ours(partner().compile(names(true), tsc, bundler))).toEqual([]);
  },
);
