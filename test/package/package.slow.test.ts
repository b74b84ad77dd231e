import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exportedFiles, tarballProblem } from "../../release/checks.js";
import { alarm } from "../support/deliveries.js";
import { rowsOfRun } from "../support/extent.js";
import {
  type InstalledPackage,
  NEWEST_TSC,
  OLDEST_TSC,
  REPOSITORY,
  installPackage,
  pack,
} from "../support/package/installed-package.js";
import { installPlatform } from "../support/platform-packages.js";
import { sourcesIn, textOf } from "../support/package/sources.js";

const NAME = "identity-gateway-webhooks";
const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as { exports: object };
/** Every entry with code. */
const SUBPATHS = Object.entries(exports)
  .filter(([, target]) => typeof target === "object")
  .map(([entry]) => entry.slice(1));
/** The entries that a receiver in production loads. */
const RECEIVING = SUBPATHS.filter((subpath) => subpath !== "/testing");
/** The values that each entry exports, as its API report lists them. */
const EXPORTS = Object.fromEntries(
  SUBPATHS.map((subpath) => {
    const file = path.join(REPOSITORY, `api/${subpath.slice(1) || "index"}.api.md`);
    const values = /^export (?:abstract )?(?:class|function|const) (\w+)/gm;
    const names = Array.from(readFileSync(file, "utf8").matchAll(values), ([, name = ""]) => name);
    return [subpath, [...new Set(names)].sort()];
  }),
);

/** A path in the installed package. */
const unpacked = (...names: readonly string[]): string =>
  path.join(esm.folder, "node_modules", NAME, ...names);

let esm: InstalledPackage;
let cjs: InstalledPackage;

/** What the tarball has brought into the project. */
let installed: readonly string[];

beforeAll(async () => {
  for (const folder of ["loaders", "typescript-7"]) await installPlatform(folder);
  esm = installPackage("module");
  cjs = installPackage("commonjs");
  installed = readdirSync(path.join(esm.folder, "node_modules"));
  // The only peers that an entry imports itself.
  for (const name of ["pg", "@types/pg", "pg-types", "pg-protocol"]) esm.borrow(name);
  for (const peer of ["@nestjs/common", "@nestjs/core", "@opentelemetry/api"]) {
    esm.borrow(peer);
    cjs.borrow(peer);
  }
  for (const project of [esm, cjs]) {
    for (const tool of ["ts-node", "esbuild-register", "jest", "typescript"]) {
      project.borrow(tool, "test/platforms/loaders");
    }
    for (const tool of ["tsx", "vitest"]) project.borrow(tool);
  }
});

afterAll(() => {
  esm.remove();
  cjs.remove();
});

/** Runs a script that sets `result`, in a project and a module system. */
function evaluate(
  project: InstalledPackage,
  script: string,
  flags: readonly string[] = [],
): unknown {
  const file = project === esm ? "script.mjs" : "script.cjs";
  project.write(file, `${script}\n`);
  return JSON.parse(project.node([...flags, file]));
}

test("the tarball contains the build, the fixtures, the examples and the documents, and nothing else", () => {
  const files = execFileSync("tar", ["-tzf", pack()], { encoding: "utf8" }).trim().split("\n");
  const packed = new Set(files.map((file) => file.split("/").slice(1, 2).join("/")));
  const documents = ["AGENTS", "CHANGELOG", "CONTRIBUTING", "README", "SECURITY", "STABILITY"];
  const folders = ["contract", "dist", "docs", "examples", "fixtures", "sql"];
  const others = ["LICENSE", "llms.txt", "package.json"];
  const all = [...documents.map((name) => `${name}.md`), ...folders, ...others];
  expect([...packed].sort()).toEqual(all.sort());
  const paths = files.map((file) => ({ path: file.replace("package/", "") }));
  const { size } = statSync(pack());
  expect(tarballProblem({ size, files: paths }, exportedFiles(exports))).toBeUndefined();
});

test("the tarball names no machine path and no download address", () => {
  const texts = readdirSync(unpacked(), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(c?js|d\.c?ts|json|md)$/.test(file))
    .map((file) => readFileSync(unpacked(file), "utf8"));
  expect(texts.length).toBeGreaterThan(20);
  expect(texts.filter((text) => text.includes(REPOSITORY))).toEqual([]);
});

test("the build writes the homepage into the messages that name a page", () => {
  const text = readFileSync("package.json", "utf8");
  const { homepage = "" } = JSON.parse(text) as Record<string, string>;
  const files = ["core.js", "core.cjs", "cli.js"];
  const [core, ...others] = files.map((file) => readFileSync(unpacked("dist", file), "utf8"));
  expect(core).toContain(`"${homepage}`);
  for (const built of [core, ...others]) expect(built).not.toContain("HOMEPAGE");
});

test("the tarball has the licence of every package that is inlined in the kit and the command line", () => {
  const own = JSON.parse(textOf("package.json")) as {
    devDependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
  };
  const sources = sourcesIn("kit", "cli").map(textOf);
  const inlined = Object.keys(own.devDependencies).filter(
    (name) =>
      !(name in own.peerDependencies) &&
      sources.some((source) => new RegExp(`^import .* from "${name}";$`, "m").test(source)),
  );
  expect(inlined).toContain("jsonc-parser");
  const licences = readFileSync(unpacked("dist", "licences.txt"), "utf8");
  for (const name of inlined) expect(licences).toContain(`${name}\n\n`);
  expect(licences).toContain("Copyright (c) Microsoft");
});

test("the tarball installs zod and lru-cache and nothing else", () => {
  const packages = installed.filter((name) => !name.startsWith("."));
  expect(packages.sort()).toEqual([NAME, "lru-cache", "zod"]);
});

const OLD_REQUIRE = "--no-experimental-require-module";

/** Node, and packages that load TypeScript or run tests, and how each starts a file `load`. */
const LOADERS: Readonly<Record<string, readonly string[]>> = {
  tsx: ["--import", "tsx", "load.ts"],
  "ts-node": ["--require", "ts-node/register/transpile-only", "load.ts"],
  "ts-node for ESM": ["--loader", "ts-node/esm/transpile-only", "load.ts"],
  "esbuild-register": ["--require", "esbuild-register", "load.ts"],
  Vitest: ["node_modules/vitest/vitest.mjs", "run", "load.test.ts"],
  Jest: ["node_modules/jest/bin/jest.js", "load.test.cjs"],
  import: ["load.mjs"],
  require: ["load.cjs"],
  "a require that cannot load ESM, as in Jest,": [OLD_REQUIRE, "load.cjs"],
};

/** Writes what each entry exports to `names.json`, in a test if a runner loads it. */
function loadingCode(file: string): string {
  const isCommonJs = file.endsWith(".cjs");
  const load = ([from, at]: readonly [string, number]): string =>
    isCommonJs
      ? `const entry${at} = require("${from}");`
      : `import * as entry${at} from "${from}";`;
  const entries = SUBPATHS.map((subpath, at) => [NAME + subpath, at] as const);
  const names = SUBPATHS.map((subpath, at) => `["${subpath}", Object.keys(entry${at})]`);
  return [
    isCommonJs ? 'const fs = require("node:fs");' : 'import * as fs from "node:fs";',
    file === "load.test.ts" ? 'import { test } from "vitest";' : "",
    ...entries.map(load),
    `const write = () => fs.writeFileSync("names.json", JSON.stringify([${names.join(",\n")}]));`,
    file.includes(".test.") ? 'test("loads", write);' : "write();",
    "",
  ].join("\n");
}

test.each(
  Object.keys(LOADERS).flatMap((loader) => [
    ...(loader === "ts-node for ESM" ? [] : [[loader, "CommonJS", () => cjs] as const]),
    // The first needs the loader of the next row. That of esbuild-register runs no ESM on Node 20.
    ...(/^ts-node$|^esbuild/.test(loader) ? [] : [[loader, "ESM", () => esm] as const]),
  ]),
)("every entry is loaded by %s in a project of %s", (loader, _kind, project) => {
  const argv = LOADERS[loader] ?? [];
  const file = argv.find((one) => one.startsWith("load.")) ?? "";
  project().write(file, loadingCode(file));
  project().write("tsconfig.json", JSON.stringify({ compilerOptions: nodenext }));
  project().node(argv, { NO_COLOR: "1" });
  const text = readFileSync(path.join(project().folder, "names.json"), "utf8");
  rmSync(path.join(project().folder, "names.json"));
  const found = (JSON.parse(text) as [string, string[]][]).map(([subpath, names]) => [
    subpath,
    names.filter((name) => !/^(?:default|module\.exports|__esModule)$/.test(name)).sort(),
  ]);
  expect(Object.fromEntries(found)).toEqual(EXPORTS);
});

/** A script's function that signs a delivery and gives it to a receiver. */
const SEND = `
  async function send(receiver, signDelivery, id, body) {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = await signDelivery({ secret: "s", id, timestamp, body });
    const headers = { "x-webhook-id": id, "x-webhook-type": "new_alarm", "x-webhook-timestamp": String(timestamp), "x-webhook-signature": signature };
    return receiver.receive({ headers, body });
  }`;

const oneCopy = `
  ${SEND}
  const required = require("${NAME}");
  import("${NAME}").then(async (imported) => {
    const thrown = [];
    for (const subpath of ["express", "hono", "node", "fetch"]) {
      const adapter = require("${NAME}/" + subpath);
      try {
        adapter[subpath + "Handler"]({ maxBodyBytes: 1 }, { bodyTimeoutMs: -1 });
      } catch (error) {
        thrown.push(error instanceof required.ConfigurationError && error.name);
      }
    }
    const discard = () => { throw new imported.DiscardDelivery({ reason: "x" }); };
    const receiver = required.createWebhookReceiver({ secret: "s", logger: false, handlers: { new_alarm: discard } });
    const { outcome } = await send(receiver, imported.signDelivery, "a", ${JSON.stringify(JSON.stringify({ alarm: alarm() }))});
    console.log(JSON.stringify({
      same: required.ConfigurationError === imported.ConfigurationError && required.createWebhookReceiver === imported.createWebhookReceiver,
      name: imported.ConfigurationError.name,
      thrown,
      outcome,
    }));
  });`;

/** Every file in a bundle of these entries, as a path in the project. It fails if a package is missing there. */
const filesOf = async (
  subpaths: readonly string[],
  external: string[] = [],
): Promise<readonly string[]> => {
  const { metafile } = await build({
    stdin: {
      contents: subpaths.map((subpath) => `export * from "${NAME}${subpath}";`).join("\n"),
      resolveDir: esm.folder,
    },
    absWorkingDir: esm.folder,
    bundle: true,
    write: false,
    metafile: true,
    treeShaking: false,
    format: "esm",
    platform: "node",
    external,
    logLevel: "error",
  });
  return Object.keys(metafile.inputs).filter((file) => file !== "<stdin>");
};

const PEERS = ["express", "hono", "@nestjs/*", "@opentelemetry/api"];

test.each([
  ["the testing kit", "/testing", /createGatewayTwin|receiverConformance|diagnoseSignature/],
  ["the management client", "/management", /createManagementClient|proveSecret/],
])("no file that a receiver loads contains %s", async (_what, entry, code) => {
  const holdsIt = (file: string): boolean =>
    code.test(readFileSync(path.join(esm.folder, file), "utf8"));
  expect((await filesOf([entry], PEERS)).filter(holdsIt)).not.toEqual([]);
  const receiving = RECEIVING.filter((subpath) => subpath !== entry);
  const loaded = await filesOf(receiving, PEERS);
  expect(loaded.length).toBeGreaterThanOrEqual(receiving.length);
  expect(loaded.filter(holdsIt)).toEqual([]);
});

/** The packages that an entry imports beside `#crypto` and lru-cache. `/testing` is no part of a receiver. */
const OWN_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "/schemas": ["zod/mini"],
  "/nestjs": ["@nestjs/common", "@nestjs/core"],
  "/opentelemetry": ["@opentelemetry/api"],
};

/** What a published file imports, with the files that it reaches. */
async function importsOf(file: string): Promise<readonly string[]> {
  const { metafile } = await build({
    ...{ entryPoints: [unpacked(file)], bundle: true, write: false, metafile: true },
    ...{ platform: "neutral", packages: "external", external: ["#*"], treeShaking: false },
    logLevel: "error",
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  return [...new Set(imports.filter(({ external }) => external).map((one) => one.path))].sort();
}

test.each(RECEIVING.flatMap((subpath) => [[subpath, "js"] as const, [subpath, "cjs"] as const]))(
  "what %s reaches as .%s imports #crypto, lru-cache and its own packages, and nothing of Node",
  async (subpath, extension) => {
    const expected = ["#crypto", "lru-cache", ...(OWN_IMPORTS[subpath] ?? [])].sort();
    const file = `dist/${subpath.slice(1) || "index"}.${extension}`;
    expect(await importsOf(file)).toEqual(expected);
  },
);

test.each(["js", "cjs"])(
  "#crypto alone imports of Node, and only where there is one: .%s",
  async (extension) => {
    expect(await importsOf(`dist/crypto/web.${extension}`)).toEqual([]);
    expect(await importsOf(`dist/crypto/node.${extension}`)).toEqual([
      "node:buffer",
      "node:crypto",
    ]);
  },
);

const createRequire = `import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);`;
test.each([
  ["import and require", () => cjs, oneCopy, []],
  ["import and require from an ESM project", () => esm, createRequire + oneCopy, []],
  [
    "the subpaths, if only CommonJS can be required,",
    () => cjs,
    oneCopy.replace(`import("${NAME}")`, "Promise.resolve(required)"),
    [OLD_REQUIRE],
  ],
])("%s return the same classes and receivers", (_which, project, script, flags) => {
  const thrown = Array(4).fill("ConfigurationError");
  const same = { name: "ConfigurationError", thrown, same: true, outcome: "discarded" };
  expect(evaluate(project(), script, flags)).toEqual(same);
});

/** Compiled in the partner's project: each wrong use in them must fail. */
const TYPE_TESTS = ["public-types.test-d.ts", "records.test-d.ts", "proofs.ts"];

test("no declaration names zod, so that its major versions are not part of the public types", () => {
  const declarations = readdirSync(unpacked("dist"), { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.d\.c?ts$/.test(file),
  );
  expect(declarations).toContain("schemas.d.ts");
  const texts = declarations.map((file) => readFileSync(unpacked("dist", file), "utf8"));
  expect(texts.filter((text) => /from ['"]zod|import\(['"]zod/.test(text))).toEqual([]);
});

/** Writes the type tests and a file that uses every entry into the partner's project. Returns the files' names. */
function writeTypeTests(project: InstalledPackage): readonly string[] {
  for (const file of TYPE_TESTS) project.copy(`test/types/${file}`, file);
  const imports = SUBPATHS.map((subpath, index) => {
    const [name = ""] = EXPORTS[subpath] ?? [];
    return `import { ${name} as value${String(index)} } from "${NAME}${subpath}";`;
  });
  // `false` is not assignable to the type that this makes of `any`.
  const uses = SUBPATHS.map(
    (subpath, index) =>
      `export * as entry${String(index)} from "${NAME}${subpath}";\nexport const proof${String(index)}: 0 extends 1 & typeof value${String(index)} ? true : false = false;`,
  );
  const missing = [
    "// @ts-expect-error: there is no such subpath",
    `export * as nothing from "${NAME}/nothing";`,
  ];
  project.write("every-entry.ts", [...imports, ...uses, ...missing].join("\n"));
  return [...TYPE_TESTS, "every-entry.ts"];
}

const nodenext = { module: "nodenext", moduleResolution: "nodenext" };
const bundler = { module: "esnext", moduleResolution: "bundler" };
// Many Express and Nest projects still use node10. It ignores `exports` and reads
// `typesVersions`.
const node10 = { module: "commonjs", moduleResolution: "node10" };
/** The declarations are the same files as under nodenext, where they are checked. */
const skipLibCheck = true;

const compilations = [
  ["nodenext in an ESM project", () => esm, nodenext],
  ["nodenext in a CommonJS project", () => cjs, nodenext],
  ["bundler in an ESM project", () => esm, { ...bundler, skipLibCheck }],
  ["bundler in a CommonJS project", () => cjs, { ...bundler, skipLibCheck }],
  ["node10", () => cjs, { ...node10, skipLibCheck }],
] as const;
// compilers.slow.test.ts compiles an ESM project by nodenext, and a bundler finds the same declarations.
const ofEachRun = rowsOfRun(compilations, ([name]) => /^node.*CommonJS|^node10/.test(name));

describe.each(ofEachRun)("the type tests and every entry under %s", (_name, of, options) => {
  test("are accepted by TypeScript 6", () => {
    const files = writeTypeTests(of());
    // node10 is deprecated there.
    expect(of().typeCheck({ ...options, ignoreDeprecations: "6.0" }, files)).toBe("");
  });

  test("are accepted by TypeScript 5.4", () => {
    const [, oldest = ""] =
      /^TypeScript (\d+\.\d+) and later/m.exec(readFileSync("STABILITY.md", "utf8")) ?? [];
    expect(execFileSync(process.execPath, [OLDEST_TSC, "--version"], { encoding: "utf8" })).toMatch(
      `Version ${oldest}.`,
    );
    expect(of().typeCheck(options, writeTypeTests(of()), OLDEST_TSC)).toBe("");
  });
});

/** The bytes of all files below a folder. */
function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0);
}

test("the README says how large the tarball and the installed packages are", () => {
  const installed = (name: string): number => bytesIn(unpacked("..", name));
  const [own, dependencies] = [installed(NAME), installed("zod") + installed("lru-cache")];
  const packed = statSync(pack()).size;
  const [, kB, ownMB, dependenciesMB, percent] =
    /The tarball has (\d+) kB\. Installed it takes ([\d.]+) MB, and zod and lru-cache ([\d.]+) MB, (\d+) % of all/.exec(
      readFileSync("README.md", "utf8"),
    ) ?? [];
  const isNear = (said: string | undefined, bytes: number): void => {
    expect(Number(said)).toBeGreaterThan(0.93 * bytes);
    expect(Number(said)).toBeLessThan(1.07 * bytes);
  };
  isNear(kB, packed / 1_000);
  isNear(ownMB, own / 1_000_000);
  isNear(dependenciesMB, dependencies / 1_000_000);
  isNear(percent, (100 * dependencies) / (own + dependencies));
});

const ADAPTERS = ["express", "fastify", "koa", "hono", "node", "fetch"];

const entryOf = (adapter: string): string => `node_modules/${NAME}/dist/${adapter}.js`;

test.each(ADAPTERS)(
  "a bundle of /%s has nothing of a framework and nothing of another adapter",
  async (adapter) => {
    const files = await filesOf([`/${adapter}`]);
    const own = new RegExp(`^node_modules/(?:${NAME}|zod|lru-cache)/`);
    expect(files.filter((file) => !own.test(file))).toEqual([]);
    expect(files.filter((file) => ADAPTERS.map(entryOf).includes(file))).toEqual([
      entryOf(adapter),
    ]);
  },
);

const HANDLERS = `
import { DiscardDelivery, RetryLater } from "${NAME}";
export { RetryLater };
export function handle(_record, { id }) {
  throw id === "later" ? new RetryLater({ afterMs: 5_000 }) : new DiscardDelivery({ reason: "closed" });
}
`;

const APP = `
const { createWebhookReceiver, signDelivery, ...errors } = require("${NAME}");
const handlers = require("./handlers.mjs");
${SEND}
const receiver = createWebhookReceiver({ secret: "s", logger: false, handlers: { unrecognized: handlers.handle } });
const answerTo = async (id) => {
  const { status, headers } = await send(receiver, signDelivery, id, "{}");
  return { status, retryAfter: headers["retry-after"] };
};
(async () => {
  const isOneCopy = handlers.RetryLater === errors.RetryLater;
  const foreign = new handlers.RetryLater();
  const kinds = ["GatewayWebhookError", "RetryLater", "DiscardDelivery"].filter(
    (name) => foreign instanceof errors[name],
  );
  console.log(JSON.stringify([isOneCopy, kinds, await answerTo("later"), await answerTo("never")]));
})();
`;

test("RetryLater and DiscardDelivery of a second copy of the package, as ncc bundles it, are answered 503 and 200", () => {
  cjs.write("handlers.mjs", HANDLERS);
  cjs.write("app.cjs", APP);
  const ncc = path.join(REPOSITORY, "node_modules/@vercel/ncc/dist/ncc/cli.js");
  cjs.node([ncc, "build", "app.cjs", "--out", "bundle", "--quiet"]);
  expect(JSON.parse(cjs.node(["bundle/index.cjs"]))).toEqual([
    false,
    ["GatewayWebhookError", "RetryLater"],
    { status: 503, retryAfter: "5" },
    { status: 200 },
  ]);
});

/** A mistake of a first day, and what the compiler says of it. */
const MISTAKES: Readonly<Record<string, readonly [code: string, message: RegExp]>> = {
  "a forgotten secret": [
    `import { createWebhookReceiver as create, type WebhookReceiverOptions } from "${NAME}";
     const handlers = { new_alarm: () => undefined };
     create({ handlers, timestampToleranceMs: 60_000, logger: false });
     export const options: WebhookReceiverOptions = { handlers };`,
    /^(?:a\.ts(?:.(?!acceptUnsigned|^a\.ts))*'secret' is missing[^\n]*\n){2}$/ms,
  ],
  "a handler that wants tx of a store that has none": [
    `import { createWebhookReceiver as create, memoryStore } from "${NAME}";
     const store = memoryStore();
     create({ secret: "", store, handlers: { new_alarm: (_, { tx }) => tx } });`,
    /^a\.ts\S+ error TS2339: Property 'tx' does not exist on type 'ContextWithoutTransactionalStore'\.\n$/,
  ],
  "a misspelt event type": [
    `import { createWebhookReceiver as create } from "${NAME}";
     create({ secret: "", handlers: { delete_my_data_event: { DATA_REAPEARED: () => 1 } } });`,
    /'DATA_REAPEARED' does not exist in .* Did you mean to write 'DATA_REAPPEARED'\?\n$/,
  ],
  "a client in the place of a pool": [
    `import pg from "pg";
     import { postgresTransactions } from "${NAME}/postgres";
     postgresTransactions({ pool: new pg.Client() });`,
    /^a\.ts\S+ error TS2322: Type 'Client' is not assignable to type 'PostgresTransactionPool'\./,
  ],
};

const COMPILERS = [
  ["the oldest TypeScript", OLDEST_TSC],
  ["the newest TypeScript", NEWEST_TSC],
] as const;

describe.each(COMPILERS)("%s", (_which, tsc) => {
  test.each(Object.entries(MISTAKES))("says what is wrong with %s", (_mistake, [code, message]) => {
    esm.write("a.ts", code);
    expect(esm.typeCheck({ ...nodenext, skipLibCheck: true }, ["a.ts"], tsc)).toMatch(message);
  });

  // A compiler that reads all declarations meets the types in another order, on which its message may depend.
  test("says what is wrong with a forgotten secret where it checks the declarations too", () => {
    const [code = "", message = /^$/] = MISTAKES["a forgotten secret"] ?? [];
    esm.write("a.ts", code);
    expect(esm.typeCheck(nodenext, ["a.ts"], tsc)).toMatch(message);
  });
});
