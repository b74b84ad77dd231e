import { readdirSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { defineConfig } from "tsup";
import { listenPage } from "./docs/listen-page.js";
import { ENTRIES } from "./release/entries.js";

/**
 * Packages whose code is inlined, so that a receiver's install stays small. Only the kit and the command line
 * import them (.oxlintrc.json). Their licences are in `dist/licences.txt`.
 */
const INLINED = ["jsonc-parser"];

async function writeLicences(): Promise<void> {
  const texts = INLINED.map(async (name) => {
    const folder = `node_modules/${name}`;
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} has no licence text`);
    return `${name}\n\n${await readFile(`${folder}/${file}`, "utf8")}`;
  });
  await writeFile("dist/licences.txt", (await Promise.all(texts)).join("\n\n"));
}

const CHUNK = /(?<=from "|import ")\.{1,2}\/(chunk-[A-Z0-9]{8}\.js)(?=")/g;

/** The chunks that a file of `dist/` loads, and those that they load. */
async function chunksOf(file: string, found = new Set<string>()): Promise<ReadonlySet<string>> {
  const code = await readFile(`dist/${file}`, "utf8");
  for (const [, chunk = ""] of code.matchAll(CHUNK)) {
    if (found.has(chunk)) continue;
    found.add(chunk);
    await chunksOf(chunk, found);
  }
  return found;
}

/**
 * Makes one file, `core.js`, of the chunks that the main entry loads. Reading 18 files takes a third of the time
 * from the start of a process to its first answer.
 */
async function mergeCore(): Promise<void> {
  // The core imports a crypto backend by `#crypto`, so a backend must not import the core.
  const apart = new Set([
    ...(await chunksOf("crypto/node.js")),
    ...(await chunksOf("crypto/web.js")),
  ]);
  const merged = [...(await chunksOf("index.js"))].filter((chunk) => !apart.has(chunk)).toSorted();
  const toCore = (code: string): string =>
    code.replaceAll(CHUNK, (path: string, chunk: string) =>
      merged.includes(chunk) ? path.replace(chunk, "core.js") : path,
    );
  await build({
    stdin: {
      contents: merged.map((chunk) => `export * from "./${chunk}";`).join("\n"),
      resolveDir: "dist",
    },
    outfile: "dist/core.js",
    ...{ bundle: true, format: "esm", target: "node20", platform: "neutral" },
    packages: "external",
    // `export *` drops a name that two chunks export; then the import of it fails here.
    logOverride: { "ambiguous-reexport": "error" },
    plugins: [
      {
        name: "keep-others-apart",
        setup(plugin) {
          plugin.onResolve({ filter: /^(?:\.{1,2}\/|#crypto)/ }, ({ path }) =>
            merged.some((chunk) => path === `./${chunk}`) ? undefined : { path, external: true },
          );
        },
      },
    ],
  });
  for (const chunk of merged) rmSync(`dist/${chunk}`);
  const files = readdirSync("dist", { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".js"))) {
    await writeFile(`dist/${file}`, toCore(await readFile(`dist/${file}`, "utf8")));
  }
}

/**
 * Names each chunk that several entries share: after its room and last file, such as `chunk-inbox-consume.js`, or
 * after the folder of its rooms, such as `chunk-kit.js`.
 */
async function nameChunks(): Promise<void> {
  const files = readdirSync("dist", { recursive: true, encoding: "utf8" });
  const scripts = files.filter((name) => name.endsWith(".js"));
  const names = new Map<string, string>();
  for (const chunk of scripts.filter((name) => /^chunk-[A-Z0-9]{8}\.js$/.test(name))) {
    const code = await readFile(`dist/${chunk}`, "utf8");
    const sources = Array.from(code.matchAll(/^\/\/ (?:src\/)?(\S+)\.ts$/gm), ([, source = ""]) =>
      source.split("/"),
    );
    const rooms = new Set(sources.map((parts) => parts.slice(0, -1).join("/")));
    const parts = sources.at(-1) ?? [];
    const name = `chunk-${(rooms.size > 1 ? parts.slice(0, 1) : parts.slice(-2)).join("-")}.js`;
    if (parts.length < 2 || [...names.values()].includes(name)) {
      throw new Error(`${chunk} would be ${name}`);
    }
    names.set(chunk, name);
  }
  for (const file of scripts) {
    const code = await readFile(`dist/${file}`, "utf8");
    const named = code.replaceAll(/chunk-[A-Z0-9]{8}\.js/g, (chunk) => names.get(chunk) ?? chunk);
    await writeFile(`dist/${names.get(file) ?? file}`, named);
    if (names.has(file)) rmSync(`dist/${file}`);
  }
}

// `npm run generate` makes this file too, but builds first. Knip and tests read this configuration as well: written
// anew without a change, the file would be younger than the build, and `npm run check` would build once more.
const PAGE = "cli/page/page-html.ts";
const page = await listenPage();
if ((await readFile(PAGE, "utf8").catch(() => "")) !== page) await writeFile(PAGE, page);

// Messages lead to pages of this site (src/common/pages.ts).
const { homepage } = JSON.parse(await readFile("package.json", "utf8")) as { homepage?: string };

// The ESM build. Its entries share their chunks, so that every subpath has the same classes.
// `tsup.cjs.config.ts` makes CommonJS of it.
export default defineConfig({
  entry: {
    ...Object.fromEntries(ENTRIES.map(({ name, file }) => [name, file])),
    cli: "cli/main.ts",
    "crypto/node": "src/signature/crypto/node.ts",
    "crypto/web": "src/signature/crypto/web.ts",
  },
  format: "esm",
  target: "node20",
  platform: "neutral",
  splitting: true,
  clean: true,
  noExternal: INLINED,
  define: { HOMEPAGE: JSON.stringify(homepage?.replace(/\/?$/, "/") ?? "") },
  onSuccess: async () => {
    await mergeCore();
    await nameChunks();
    await writeLicences();
  },
  // Bundled, the choice between the crypto backends would be made here, for every platform.
  external: ["#crypto", /^node:/],
  removeNodeProtocol: false,
  // Of the declarations that `npm run build` makes first: tsup would make each by itself, which takes four times as long.
  dts: {
    entry: Object.fromEntries(
      ENTRIES.map(({ name, file }) => [name, `reports/types/${file.replace(/\.ts$/, ".d.ts")}`]),
    ),
  },
});
