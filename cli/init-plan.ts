import path from "node:path";
import { readPackaged } from "./documents.js";
import { UsageError } from "./exit.js";
import { PROGRAM } from "./help-text.js";
import { PATH, type Framework, type Mount, type Source } from "./init-files.js";
import type { Project } from "./init-project.js";
import { withStore, type InitStore } from "./init-stores.js";
import { inDialect } from "./init-text.js";

const { posix } = path;

/** What `init` writes, by its name in the project, and what it says afterwards. */
export interface Plan {
  readonly files: Readonly<Record<string, string>>;
  /** The commands to run. */
  readonly commands: readonly string[];
  /** Lines about what follows: how an app takes the receiver, and its first delivery. */
  readonly after: readonly string[];
}

/** Throws `UsageError` where files of the user's own stand in the way, or the place for a file is not known. */
export function planOf(framework: Framework, project: Project, store?: InitStore): Plan {
  const { found, own, packages, manager, runner, isThere } = project;
  const { host, secretFile, url } = framework;
  const { written, mount, isTypeScript, isNew } = filesFor(framework, project, store);
  const names = Object.keys(written);
  const [main = ""] = names;
  const theirs = isThere(main) ? (isOurs(project, main) ? undefined : main) : names.find(isThere);
  if (theirs !== undefined) {
    throw new UsageError(
      `${theirs} is there and is no receiver: give init a folder of its own, or follow ${framework.page}`,
    );
  }
  const tested = names.find((name) => /\.(?:test|spec)\./.test(name)) ?? "";
  const tsx = isTypeScript ? "--import tsx " : "";
  const build = host?.build ?? "";
  const start = `${build}${host?.start ?? `node --env-file=.env ${tsx}${main}`}`;
  const test =
    runner === undefined || host !== undefined
      ? `${build}node ${tsx}--test ${tested}`
      : runner.commandOf(tested);
  const secret = "GATEWAY_WEBHOOK_SECRET=";
  const storeUrl = store?.url === undefined ? "" : `${store.url}=\n`;
  const isTheirs = isThere(".env.example") && !project.read(".env.example").includes(secret);
  const then = `  # then add ${isTheirs ? `${secret}… to ${secretFile}` : isThere(secretFile) ? "the lines of .env.example and the secret" : `the secret to ${secretFile}`}`;
  const send = `${secret}… ${manager.run} ${PROGRAM} send ${url}`;
  const wanted = [PROGRAM, ...(isNew ? framework.packages : []), ...(store?.packages ?? [])];
  const isTool = (name: string): boolean =>
    isTypeScript || host !== undefined || !/^tsx$|^@types\//.test(name);
  const forTest = runner === undefined ? ["tsx", "@types/node"] : ["@types/node"];
  const tools = [...(isNew ? framework.tools : forTest), ...(store?.tools ?? [])];
  const install = (command: string, all: readonly string[], there: readonly string[]) => {
    const missing = all.filter((name) => !there.includes(name));
    return missing.length === 0 ? [] : [[command, ...missing].join(" ")];
  };
  return {
    files: {
      ...written,
      ".env.example": `# Copy it to ${secretFile}, which stays out of version control, and add the webhook's secret there.\n${secret}\n${storeUrl}`,
      ".gitignore": `node_modules\ndist\n.wrangler\ndeliveries.db*\n${secretFile}\n`,
      "package.json": `${JSON.stringify({ private: true, type: "module", scripts: { start, test } }, null, 2)}\n`,
    },
    commands: [
      ...install(manager.add, wanted, own),
      ...install(manager.addTools, tools.filter(isTool), packages),
      (isThere(secretFile)
        ? `chmod 600 ${secretFile}`
        : `(umask 077 && cp .env.example ${secretFile})`) + then,
      found === undefined ? "npm test" : test,
      ...(!isNew ? [] : [found === undefined ? "npm start" : start]),
    ],
    after: isNew
      ? [`  ${send}  # in a second shell`]
      : [
          ...mount,
          `Start the app with ${secretFile}, for example by node --env-file=${secretFile}, and send it a delivery from a second shell:`,
          `  ${send}`,
        ],
  };
}

/** The files of a host, of a server, or of a module for the app that is there. */
function filesFor(framework: Framework, project: Project, store: InitStore | undefined) {
  const { found, sources, read, runner, isThere, aTest = "" } = project;
  const { mount, route, server, page, host } = framework;
  if (host !== undefined) {
    const texts = Object.entries(host.files).map(([name, source]) => [name, textOf(source)]);
    const written = Object.fromEntries(texts) as Readonly<Record<string, string>>;
    return { written, mount: [], isTypeScript: false, isNew: true };
  }
  const below = route?.below.find(isThere);
  const isNest = server === undefined && route === undefined;
  const appFile =
    found === undefined || mount === undefined
      ? undefined
      : (sources.find((file) => isNest && /app\.module\.\w+$/.test(file)) ??
        sources.find((file) => mount.app.test(read(file))));
  if (mount === undefined || (server === undefined && (below ?? appFile) === undefined)) {
    throw new UsageError(`init finds no app here: ${page} has the files to write`);
  }
  if (isNest && store !== undefined) {
    throw new UsageError(`leave out --store: ${page} says how a module of Nest gets one`);
  }
  const text = appFile === undefined ? "" : read(appFile);
  const [, kind = "", language = ""] = /\.([cm]?)([jt])sx?$/.exec(appFile ?? "") ?? [];
  const isTypeScript = language === "" ? project.isTypeScript : language === "t";
  const isPackageModule = found === undefined || found.type === "module";
  const isModule =
    route !== undefined ||
    kind === "m" ||
    (kind === "" && (isPackageModule || /^(?:import|export)\b/m.test(text)));
  // Node reads the route's own module in a test, where no bundler does.
  const isRouteAlone = route !== undefined && !isTypeScript && !isPackageModule;
  const extension = `${isRouteAlone ? "m" : kind}${isTypeScript ? "ts" : "js"}`;
  const isExplicit =
    isRouteAlone ||
    kind === "m" ||
    (kind === "" && isPackageModule && !(route !== undefined && isTypeScript));
  const ending = endingOf(text, extension, isExplicit);
  const dialect = { isTypeScript, isModule, runner: runner?.name };
  // Vitest cannot be required.
  const testDialect = { ...dialect, isModule: isModule || dialect.runner === "vitest" };
  const isTestsFolder = /(?:^|\/)(?:tests?|__tests__)\//.test(aTest);
  const suffix = /[.-](test|spec)\.\w+$/.exec(aTest)?.[1] ?? (isNest ? "spec" : "test");
  const folder =
    below === undefined
      ? appFile === undefined
        ? rootOf(project)
        : posix.dirname(appFile)
      : posix.dirname(below);
  const isServer = appFile === undefined && below === undefined;
  for (const base of ["gateway", "gateway-webhooks"]) {
    const stem = posix.join(folder, isNest ? `${base}.module` : base);
    const file = `${stem}.${extension}`;
    const test = `${posix.join(isTestsFolder ? posix.dirname(aTest) : folder, base)}.${suffix}.${extension}`;
    const isTaken = [...sources, file, test].some(
      (one) => (one === test || one.replace(/\.\w+$/, "") === stem) && !isOurs(project, one),
    );
    if (isTaken) continue;
    const from = (other: string): string => {
      const relative = posix.relative(posix.dirname(other), stem);
      return `"${relative.startsWith(".") ? "" : "./"}${relative}${ending}"`;
    };
    const example = readPackaged(
      server !== undefined && isServer
        ? server
        : isNest
          ? "examples/nestjs.ts"
          : "examples/module.ts",
    );
    const code = (isServer ? example : moduleOf(example, mount)).replace(/^\/\/ .*\n/, "");
    const testCode = readPackaged(isServer ? "examples/server-test.ts" : "examples/module-test.ts")
      .replace(/^\/\/ .*\n/, "")
      .replaceAll(/("?)gateway\.ts\1/g, (_all, quote) =>
        quote === "" ? file : `"${runner?.pathOf(file) ?? file}"`,
      )
      .replace('"./module.js"', from(test));
    const stored = store === undefined ? code : withStore(code, store);
    const importLine = (other: string): string =>
      inDialect(`import { ${isNest ? "GatewayModule" : "gateway"} } from ${from(other)};`, dialect);
    const routeFile =
      below && `${below}/webhooks/gateway/${String(route?.file)}.${isTypeScript ? "ts" : "js"}`;
    return {
      written: {
        [file]: inDialect(stored, dialect),
        [test]: inDialect(isNest ? nestTest(testCode, from(test)) : testCode, testDialect),
        ...(routeFile && {
          [routeFile]: inDialect(`${importLine(routeFile)}\n\n${String(route?.code)}`, dialect),
        }),
      },
      mount: appFile === undefined ? [] : mountLines(appFile, text, mount, importLine(appFile)),
      isTypeScript,
      isNew: isServer,
    };
  }
  throw new UsageError(
    `gateway and gateway-webhooks are files of your own: ${page} has what to write`,
  );
}

/** `examples/module.ts` for an adapter. */
function moduleOf(example: string, { adapter, type = "", code }: Mount): string {
  const entry = adapter.replace(/Handler|Plugin/, "");
  const text = example
    .replaceAll("expressHandler", adapter)
    .replace('"identity-gateway-webhooks/express"', `"identity-gateway-webhooks/${entry}"`)
    .replace(/^import \{ createWebhook/m, (start) => `${type}${start}`);
  return code === undefined
    ? text
    : text.replace(/^export function gateway\(.*\n(?: .*\n)*\}/m, code);
}

/** The test of a module, for one of Nest, whose app makes the receiver. */
function nestTest(text: string, module: string): string {
  return text
    .replace(
      /^import \{ gatewayReceiver \}.*$/m,
      `import { NestFactory } from "@nestjs/core";\nimport { GatewayModule } from ${module};`,
    )
    .replace(
      "  try {\n",
      `  process.env["GATEWAY_WEBHOOK_SECRET"] = TEST_SECRET;
  const app = await NestFactory.create(GatewayModule, { logger: false });
  await app.listen(0, "127.0.0.1");
  try {
`,
    )
    .replace("gatewayReceiver({ secret: TEST_SECRET })", `\`\${await app.getUrl()}${PATH}\``)
    .replace("  } finally {\n", "  } finally {\n    await app.close();\n");
}

function mountLines(file: string, text: string, { app, line }: Mount, importLine: string) {
  const [, name = "app"] = app.exec(text) ?? [];
  const lines = text.split("\n");
  const at = lines.findIndex((one) =>
    /json|urlencoded|raw|text|body/i.test(one.split(".use(").slice(1).join()),
  );
  const where = at === -1 ? "" : `, above line ${at + 1}, ${String(lines[at]).trim()}`;
  return [`Mount it in ${file}${where}:`, `  ${importLine}`, `  ${line(name)}`];
}

/** The ending of a relative import, as the app has it. */
function endingOf(app: string, extension: string, isExplicit: boolean): string {
  const [first, ending] =
    /(?:from |require\()["']\.{1,2}\/(?:(?!\.json)[^"'])*?(\.[cm]?[jt]s)?["']/.exec(app) ?? [];
  if (first === undefined ? !isExplicit : ending === undefined) return "";
  return `.${ending?.endsWith("ts") === true ? extension : extension.replace("ts", "js")}`;
}

/** Where the compiler takes its files from. */
function rootOf({ isThere, read }: Project): string {
  const config = isThere("tsconfig.json") ? read("tsconfig.json") : "";
  return /"rootDir":\s*"([^"]+)"/.exec(config)?.[1] ?? "";
}

/** Whether a file is absent, or uses this package. */
function isOurs({ isThere, read }: Project, file: string): boolean {
  return !isThere(file) || read(file).includes(PROGRAM);
}

function textOf([file, snippet]: Source): string {
  const text = readPackaged(file);
  if (snippet === undefined) return text;
  const blocks = Array.from(text.matchAll(/^```\w+\n([^]*?)^```$/gm), ([, code = ""]) => code);
  return blocks.find((code) => code.includes(snippet)) ?? "";
}
