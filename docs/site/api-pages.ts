import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Application, type TypeDocOptions } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { ENTRIES } from "../../release/entries.js";
import { REPOSITORY } from "./navigation.js";
import type { StagedPage } from "./stage.js";

const PACKAGE = "identity-gateway-webhooks";

/** Each entry by its import, which names its page. */
const PAGES = ENTRIES.map(({ name, file, what }) => ({
  file,
  what,
  entry: name === "index" ? PACKAGE : `${PACKAGE}/${name}`,
  page: name === "index" ? PACKAGE : name,
}));

/**
 * Writes a page for each entry of the package to `api/` in the folder of the site: an example, then what the
 * docstrings say.
 *
 * @throws Error if TypeDoc cannot read the sources, or an entry has no example.
 */
export async function writeApiPages(folder: string): Promise<readonly StagedPage[]> {
  const api = path.join(folder, "api");
  const options: Partial<TypeDocOptions & PluginOptions> = {
    plugin: ["typedoc-plugin-markdown"],
    entryPoints: PAGES.map(({ file }) => path.join(REPOSITORY, file)),
    tsconfig: path.join(REPOSITORY, "api/tsconfig.declarations.json"),
    outputs: [{ name: "markdown", path: api }],
    excludeExternals: true,
    excludePrivate: true,
    excludeInternal: true,
    disableSources: true,
    readme: "none",
    githubPages: false,
    skipErrorChecking: true,
    router: "module",
    flattenOutputFiles: true,
    entryFileName: "index",
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useCodeBlocks: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    sanitizeComments: true,
    logLevel: "Error",
  };
  const app = await Application.bootstrapWithPlugins(options);
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc cannot read the sources");
  for (const { page, file } of PAGES) {
    const source = file.replace(/\.ts$/, "");
    const module = project.children?.find(
      ({ name }) => source === name || source === `${name}/index`,
    );
    if (module === undefined) throw new Error(`TypeDoc has no module for ${file}`);
    module.name = page;
  }
  await app.generateOutputs(project);
  const rows = PAGES.map(({ page, what }) => `| [${page}](${page}.md) | ${what} |`);
  const index = ["# API", "", "| import | what for |", "| --- | --- |", ...rows, ""];
  writeFileSync(path.join(api, "index.md"), index.join("\n"));
  return PAGES.map(({ entry, page }) => {
    const example = exampleOf(entry);
    if (example === undefined) throw new Error(`there is no example of ${entry}`);
    const file = path.join(api, `${page}.md`);
    const [, ...rest] = readFileSync(file, "utf8").trimStart().split("\n");
    // TypeDoc counts the type XErrorCode as a second XError.code, and links to #xerrorcode-1.
    const body = rest.join("\n").replaceAll(/\(#(\w+errorcode)-1\)/g, "(#$1)");
    const text = `# ${entry}\n\n\`\`\`ts\n${example}\`\`\`\n${body}`;
    writeFileSync(file, text);
    return { to: `api/${page}`, title: entry, text };
  });
}

/**
 * The shortest example of an entry: a file of `examples/`, otherwise a snippet of a document. Tests run or compile
 * all of them.
 */
function exampleOf(entry: string): string | undefined {
  const from = `from "${entry}"`;
  return shortest(examples(), from) ?? shortest(snippets(), from);
}

function shortest(codes: readonly string[], from: string): string | undefined {
  return codes
    .filter((code) => code.includes(from))
    .toSorted((one, other) => one.length - other.length)[0];
}

function examples(): readonly string[] {
  const folder = path.join(REPOSITORY, "examples");
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts"));
  return files.map((file) => readFileSync(path.join(folder, file), "utf8"));
}

function snippets(): readonly string[] {
  const folder = path.join(REPOSITORY, "docs");
  const documents = readdirSync(folder).filter((file) => file.endsWith(".md"));
  return documents.flatMap((file) => {
    const blocks = readFileSync(path.join(folder, file), "utf8").matchAll(/^```ts\n(.*?)^```/gms);
    return Array.from(blocks, ([, code = ""]) => code);
  });
}
