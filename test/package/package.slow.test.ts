import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import vm from "node:vm";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  OLDEST_TSC,
  REPOSITORY,
  installPackage,
  pack,
  type InstalledPackage,
} from "../support/package/installed-package.js";

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

let esm: InstalledPackage;
let cjs: InstalledPackage;

/** What the tarball has brought into the project. */
let installed: readonly string[];

beforeAll(() => {
  esm = installPackage("module");
  cjs = installPackage("commonjs");
  installed = readdirSync(path.join(esm.folder, "node_modules"));
  // The only peers that an entry imports itself.
  for (const peer of ["@nestjs/common", "@nestjs/core", "@opentelemetry/api"]) {
    esm.borrow(peer);
    cjs.borrow(peer);
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

const listExports = (load: (specifier: string) => string) =>
  `(async () => {
    const names = {};
    ${SUBPATHS.map((subpath) => `names["${subpath}"] = Object.keys(${load(NAME + subpath)}).filter((n) => n !== "default" && n !== "module.exports" && n !== "__esModule").sort();`).join("\n")}
    console.log(JSON.stringify(names));
  })();`;

test("the tarball contains the build, the fixtures, the examples and the documents, and nothing else", () => {
  const files = execFileSync("tar", ["-tzf", pack()], { encoding: "utf8" }).trim().split("\n");
  const folders = new Set(files.map((file) => file.split("/").slice(1, 2).join("/")));
  expect([...folders].sort()).toEqual([
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "STABILITY.md",
    "dist",
    "docs",
    "examples",
    "fixtures",
    "package.json",
    "sql",
  ]);
  const sources = files.filter((file) => /\.(ts|tsx)$/.test(file) && !file.endsWith(".d.ts"));
  expect(sources.filter((file) => !/^package\/examples\/[^/]+\.ts$/.test(file))).toEqual([]);
});

test("the tarball names no machine path and no download address", () => {
  const unpacked = path.join(esm.folder, "node_modules", NAME);
  const texts = readdirSync(unpacked, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(c?js|d\.c?ts|json|md)$/.test(file))
    .map((file) => readFileSync(path.join(unpacked, file), "utf8"));
  expect(texts.length).toBeGreaterThan(20);
  expect(texts.filter((text) => text.includes(REPOSITORY))).toEqual([]);
});

test("the build writes the homepage into the messages that name a page", () => {
  const { homepage = "" } = JSON.parse(readFileSync("package.json", "utf8")) as Record<
    string,
    string
  >;
  const dist = path.join(esm.folder, "node_modules", NAME, "dist");
  const files = ["core.js", "core.cjs", "cli.js"];
  const [core, ...others] = files.map((file) => readFileSync(path.join(dist, file), "utf8"));
  expect(core).toContain(`"${homepage}`);
  for (const text of [core, ...others]) expect(text).not.toContain("HOMEPAGE");
});

test("the tarball has the licence of every package that is inlined in the kit and the command line", () => {
  const own = JSON.parse(readFileSync(path.join(REPOSITORY, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
  };
  const sources = ["kit", "cli"].flatMap((folder) =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(path.join(REPOSITORY, folder, file), "utf8")),
  );
  const inlined = Object.keys(own.devDependencies).filter(
    (name) =>
      !(name in own.peerDependencies) &&
      sources.some((source) => new RegExp(`^import .* from "${name}";$`, "m").test(source)),
  );
  expect(inlined).toContain("jsonc-parser");
  const dist = path.join(esm.folder, "node_modules", NAME, "dist");
  const licences = readFileSync(path.join(dist, "licences.txt"), "utf8");
  for (const name of inlined) expect(licences).toContain(`${name}\n\n`);
  expect(licences).toContain("Copyright (c) Microsoft");
});

test("the tarball installs zod and lru-cache and nothing else", () => {
  const packages = installed.filter((name) => !name.startsWith("."));
  expect(packages.sort()).toEqual([NAME, "lru-cache", "zod"]);
});

test("every export can be imported in an ESM project", () => {
  expect(
    evaluate(
      esm,
      listExports((name) => `await import("${name}")`),
    ),
  ).toEqual(EXPORTS);
});

test("every export can be required in a CommonJS project", () => {
  expect(
    evaluate(
      cjs,
      listExports((name) => `require("${name}")`),
    ),
  ).toEqual(EXPORTS);
});

test("every export can be required if Node cannot require ESM, as in Jest", () => {
  const script = listExports((name) => `require("${name}")`);
  expect(evaluate(cjs, script, ["--no-experimental-require-module"])).toEqual(EXPORTS);
});

const oneCopy = `
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
    const options = { secret: "s", logger: false, handlers: { new_alarm: () => { throw new imported.DiscardDelivery({ reason: "x" }); } } };
    const body = ${JSON.stringify(
      JSON.stringify({
        alarm: {
          id: 1,
          text: "t",
          account_id: 2,
          severity: "High",
          status: "NEW",
          source: "BreachDb",
          event_type: "email_hacked",
          category_id: 3,
          original_event_id: "e",
          payload: "{}",
          date: "d",
          checked_at: "c",
          created_at: "c",
          updated_at: "u",
        },
      }),
    )};
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = await imported.signDelivery({ secret: "s", id: "a", timestamp, body });
    const headers = { "x-webhook-id": "a", "x-webhook-type": "new_alarm", "x-webhook-timestamp": String(timestamp), "x-webhook-signature": signature };
    const { outcome } = await required.createWebhookReceiver(options).receive({ headers, body });
    console.log(JSON.stringify({
      same: required.ConfigurationError === imported.ConfigurationError && required.createWebhookReceiver === imported.createWebhookReceiver,
      name: imported.ConfigurationError.name,
      thrown,
      outcome,
    }));
  });`;

/** Every file in a bundle of these entries. */
const filesOf = async (subpaths: readonly string[]): Promise<string[]> => {
  const { metafile } = await build({
    stdin: {
      contents: subpaths.map((subpath) => `export * from "${NAME}${subpath}";`).join("\n"),
      resolveDir: esm.folder,
    },
    bundle: true,
    write: false,
    metafile: true,
    treeShaking: false,
    format: "esm",
    platform: "node",
    external: ["express", "hono", "@nestjs/*", "@opentelemetry/api"],
    logLevel: "error",
  });
  return Object.keys(metafile.inputs).filter((file) => file.includes(`${NAME}/dist/`));
};
const kit = /createGatewayTwin|receiverConformance|diagnoseSignature|recordFixtures/;
const holdsKit = (file: string): boolean => kit.test(readFileSync(path.resolve(file), "utf8"));

test("no file that a receiver loads contains the testing kit", async () => {
  expect((await filesOf(["/testing"])).filter(holdsKit)).not.toEqual([]);
  const loaded = await filesOf(RECEIVING);
  expect(loaded.length).toBeGreaterThanOrEqual(RECEIVING.length);
  expect(loaded.filter(holdsKit)).toEqual([]);
});

test("no file that a receiver loads contains the management client", async () => {
  const holdsClient = (file: string): boolean =>
    /createManagementClient|proveSecret/.test(readFileSync(path.resolve(file), "utf8"));
  expect((await filesOf(["/management"])).filter(holdsClient)).not.toEqual([]);
  const receiving = RECEIVING.filter((subpath) => subpath !== "/management");
  expect((await filesOf(receiving)).filter(holdsClient)).toEqual([]);
});

test("the testing kit and the command line have the same dependencies as a receiver", () => {
  const { dependencies } = JSON.parse(
    readFileSync(path.join(esm.folder, "node_modules", NAME, "package.json"), "utf8"),
  ) as { dependencies: Record<string, string> };
  expect(Object.keys(dependencies)).toEqual(["lru-cache", "zod"]);
  const answer = path.join("node_modules", ".bin", NAME);
  expect(esm.node([answer, "--version"])).toMatch(/^\d+\.\d+\.\d+\n$/);
});

const shared = { name: "ConfigurationError", thrown: Array(4).fill("ConfigurationError") };

test("import and require return the same classes and receivers", () => {
  expect(evaluate(cjs, oneCopy)).toEqual({ ...shared, same: true, outcome: "discarded" });
});

test("import and require return the same classes and receivers from an ESM project too", () => {
  const script = `import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);${oneCopy}`;
  expect(evaluate(esm, script)).toEqual({ ...shared, same: true, outcome: "discarded" });
});

test("the subpaths share their classes if only CommonJS can be required", () => {
  const script = oneCopy.replace(`import("${NAME}")`, "Promise.resolve(required)");
  expect(evaluate(cjs, script, ["--no-experimental-require-module"])).toEqual({
    ...shared,
    same: true,
    outcome: "discarded",
  });
});

/** Compiled in the partner's project: each wrong use in them must fail. */
const TYPE_TESTS = ["public-types.ts", "records.ts", "proofs.ts"];

test("no declaration names zod, so that its major versions are not part of the public types", () => {
  const dist = path.join(esm.folder, "node_modules", NAME, "dist");
  const declarations = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.d\.c?ts$/.test(file),
  );
  expect(declarations).toContain("schemas.d.ts");
  const texts = declarations.map((file) => readFileSync(path.join(dist, file), "utf8"));
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

describe.each([
  ["nodenext in an ESM project", () => esm, nodenext],
  ["nodenext in a CommonJS project", () => cjs, nodenext],
  ["bundler in an ESM project", () => esm, { ...bundler, skipLibCheck }],
  ["bundler in a CommonJS project", () => cjs, { ...bundler, skipLibCheck }],
  ["node10", () => cjs, { ...node10, skipLibCheck }],
] as const)("the type tests and every entry under %s", (_, of, options) => {
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

test("the bundle for the edge receives deliveries with Web standards only", async () => {
  const entry = `
      import { createWebhookReceiver, signDelivery } from "${NAME}";
      import { fetchHandler } from "${NAME}/fetch";
      globalThis.library = { createWebhookReceiver, signDelivery, fetchHandler };`;
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: esm.folder },
    bundle: true,
    write: false,
    format: "iife",
    platform: "neutral",
    conditions: ["workerd"],
    logLevel: "error",
  });
  const code = outputFiles[0]?.text ?? "";
  const log: unknown[] = [];
  const web = vm.createContext({
    AbortController,
    Headers,
    ReadableStream,
    Request,
    Response,
    TextDecoder,
    TextEncoder,
    clearTimeout,
    crypto,
    performance,
    setTimeout,
    console: { warn: log.push, error: log.push },
  });
  vm.runInContext(code, web);
  const answer = await (vm.runInContext(
    `(async () => {
        const { createWebhookReceiver, signDelivery, fetchHandler } = library;
        const secret = "s";
        const receiver = createWebhookReceiver({ secret, handlers: { unrecognized: ({ body }) => { globalThis.seen = body.a; } } });
        const timestamp = Math.floor(Date.now() / 1000);
        const body = '{"a":1}';
        const signature = await signDelivery({ secret, id: "a", timestamp, body });
        const headers = { "x-webhook-id": "a", "x-webhook-type": "new_alarm", "x-webhook-timestamp": String(timestamp), "x-webhook-signature": signature };
        const send = () => new Request("https://partner.example/", { method: "POST", headers, body });
        const handle = fetchHandler(receiver);
        return [await (await handle(send())).text(), await (await handle(send())).text(), seen];
      })()`,
    web,
  ) as Promise<unknown>);
  expect(answer).toEqual(['{"outcome":"handled"}', '{"outcome":"duplicate"}', 1]);
  expect(log).toEqual([]);
});
