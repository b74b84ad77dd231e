import { documentFile, readPackaged } from "./documents.js";
import { PROGRAM } from "./help-text.js";
import { withStore, type InitStore } from "./init-stores.js";

/** A file of this package, or the one snippet of a page that holds the text. */
type Source = readonly [file: string, snippet?: string];

/** What `init` writes for a framework, and the commands that it ends with. */
export interface Framework {
  /** The package in a package.json that gives it away. */
  readonly knownBy?: string;
  /** By the name that it has in the project. */
  readonly files: Readonly<Record<string, Source>>;
  readonly testFile: string;
  readonly packages: readonly string[];
  readonly tools: readonly string[];
  /** Whether its store can be chosen. */
  readonly isServer?: true;
  /** Where its development server reads the secret. */
  readonly secretFile: string;
  /** Run before the start and before the test. */
  readonly build?: string;
  readonly start: string;
  readonly test: string;
  readonly url: string;
}

const LAMBDA = documentFile("aws-lambda");
const WORKERS = documentFile("cloudflare");

/** The frameworks of `init`. */
export const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  express: server("express", ["express"], ["@types/express"]),
  fastify: server("fastify", ["fastify"]),
  hono: server("hono", ["hono", "@hono/node-server"]),
  koa: server("koa", ["koa"], ["@types/koa"]),
  node: server("node", []),
  "aws-lambda": {
    knownBy: "@types/aws-lambda",
    files: {
      "index.ts": [LAMBDA, "// index.ts"],
      "local.mjs": [LAMBDA, "// local.mjs"],
      "index.test.mjs": [LAMBDA, "// index.test.mjs"],
      "template.yaml": [LAMBDA, "AWS::Serverless-2016-10-31"],
    },
    testFile: "index.test.mjs",
    packages: ["@aws-sdk/client-dynamodb"],
    tools: ["esbuild", "dynalite"],
    secretFile: ".env",
    build:
      "npx esbuild index.ts --bundle --platform=node --target=node22 --outfile=dist/index.cjs && ",
    start: "node --env-file=.env local.mjs",
    test: "node --test index.test.mjs",
    url: "http://127.0.0.1:3000/",
  },
  cloudflare: {
    knownBy: "wrangler",
    files: {
      "src/index.js": [WORKERS, "store.purge"],
      "index.test.mjs": [WORKERS, "// index.test.mjs"],
      "wrangler.jsonc": [WORKERS, '"d1_databases"'],
      "migrations/0001_gateway_deliveries.sql": ["sql/d1.sql"],
    },
    testFile: "index.test.mjs",
    packages: [],
    tools: ["wrangler", "miniflare", "esbuild"],
    secretFile: ".dev.vars",
    start: "npx wrangler d1 migrations apply gateway-webhooks --local && npx wrangler dev",
    test: "node --test index.test.mjs",
    url: "http://127.0.0.1:8787/",
  },
};

/** A server that runs in Node, from its example. */
function server(
  name: string,
  packages: readonly string[],
  tools: readonly string[] = [],
): Framework {
  return {
    ...(name === "node" ? {} : { knownBy: name }),
    files: {
      "gateway.ts": [`examples/${name}.ts`],
      "gateway.test.ts": ["examples/server-test.ts"],
    },
    isServer: true,
    testFile: "gateway.test.ts",
    packages,
    tools: ["tsx", "@types/node", ...tools],
    secretFile: ".env",
    start: "node --env-file=.env --import tsx gateway.ts",
    test: "node --import tsx --test gateway.test.ts",
    url: "http://127.0.0.1:3000/webhooks/gateway",
  };
}

/** What `init` reads of a package.json. */
export interface PackageJson {
  readonly type?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * The files of a project by name, and the commands that follow. Both suit the package.json, if there is one.
 * `isThere`: whether the folder has a file.
 */
export function projectOf(
  framework: Framework,
  found: PackageJson | undefined,
  store: InitStore | undefined,
  isThere: (file: string) => boolean,
) {
  const { files, testFile, packages, tools, secretFile, build = "", start, url } = framework;
  const isVitest = packagesOf(found).includes("vitest");
  // The test finds the server of the store where the receiver finds it.
  const node = store?.url === undefined ? "node" : "node --env-file=.env";
  const vitest = store?.url === undefined ? "npx vitest" : `${node} node_modules/vitest/vitest.mjs`;
  const test = isVitest ? `${vitest} run ${testFile}` : framework.test.replace("node", node);
  const scripts = { start: build + start, test: build + test };
  /** Top-level await and `import.meta` need an ES module, also in a project of CommonJS. */
  const named = (text: string): string =>
    found === undefined || found.type === "module"
      ? text
      : text.replaceAll(/\bgateway(\.test)?\.ts\b/g, "gateway$1.mts");
  const written = Object.entries(files).map(([name, source]) => {
    const text = textOf(source).replace(/examples\/\w+\.ts/, "gateway.ts");
    const stored = store === undefined ? text : withStore(text, store);
    const suited = isVitest ? stored.replace('"node:test"', '"vitest"') : stored;
    return [named(name), named(suited)] as const;
  });
  const secret = "GATEWAY_WEBHOOK_SECRET=";
  const storeUrl = store?.url === undefined ? "" : `${store.url}=\n`;
  return {
    secretFile,
    files: {
      ...Object.fromEntries(written),
      ".env.example": `# Copy it to ${secretFile}, which stays out of version control, and add the webhook's secret there.\n${secret}\n${storeUrl}`,
      ".gitignore": `node_modules\ndist\n.wrangler\ndeliveries.db*\n${secretFile}\n`,
      "package.json": `${JSON.stringify({ private: true, type: "module", scripts }, null, 2)}\n`,
    } as Readonly<Record<string, string>>,
    commands: [
      ["npm install", PROGRAM, ...packages, ...(store?.packages ?? [])].join(" "),
      ["npm install --save-dev", ...tools, ...(store?.tools ?? [])].join(" "),
      isThere(secretFile)
        ? `chmod 600 ${secretFile}  # then add the lines of .env.example and the secret`
        : `(umask 077 && cp .env.example ${secretFile})  # then add the secret to ${secretFile}`,
      found === undefined ? "npm test" : named(scripts.test),
      found === undefined ? "npm start" : named(scripts.start),
      `${secret}… npx ${PROGRAM} send ${url}  # in a second shell`,
    ],
  };
}

/** The names of the packages that a package.json asks for. */
export function packagesOf(found: PackageJson = {}): readonly string[] {
  return Object.keys({ ...found.dependencies, ...found.devDependencies });
}

function textOf([file, snippet]: Source): string {
  const text = readPackaged(file);
  if (snippet === undefined) return text;
  const blocks = Array.from(text.matchAll(/^```\w+\n([^]*?)^```$/gm), ([, code = ""]) => code);
  return blocks.find((code) => code.includes(snippet)) ?? "";
}
