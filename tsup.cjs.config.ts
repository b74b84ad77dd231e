import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { defineConfig } from "tsup";

const files = readdirSync("dist", { recursive: true, encoding: "utf8" });
const declarations = files.filter((file) => file.endsWith(".d.ts"));

// The CommonJS build: each file of the ESM build, chunks included, becomes one `.cjs` file. Built from
// the sources, every entry would get a copy of the core and `instanceof` would fail between subpaths;
// with tsup's own splitting the classes are rewritten.
export default defineConfig({
  // The command line is run and never required.
  entry: files
    .filter((file) => file.endsWith(".js") && file !== "cli.js")
    .map((file) => `dist/${file}`),
  outDir: "dist",
  format: "cjs",
  target: "node20",
  platform: "neutral",
  splitting: false,
  external: ["#crypto", /^node:/],
  removeNodeProtocol: false,
  outExtension: () => ({ js: ".cjs" }),
  esbuildOptions(options) {
    // Makes `import()` a `require` inside a function: Jest's CommonJS refuses `import()` without a flag.
    options.supported = { ...options.supported, "dynamic-import": false };
  },
  esbuildPlugins: [
    {
      name: "keep-files-apart",
      setup(build) {
        build.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path }) =>
          kind === "entry-point"
            ? undefined
            : { path: path.replace(/\.js$/, ".cjs"), external: true },
        );
      },
    },
  ],
  async onSuccess() {
    for (const file of declarations) {
      const esm = await readFile(`dist/${file}`, "utf8");
      const cjs = esm.replaceAll(/(from|import) '(\.\/[^']+)\.js'/g, "$1 '$2.cjs'");
      await writeFile(`dist/${file.replace(/\.d\.ts$/, ".d.cts")}`, cjs);
    }
  },
});
