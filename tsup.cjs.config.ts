import { readFileSync, readdirSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { transform } from "esbuild";
import { defineConfig } from "tsup";
import esm from "./tsup.config.js";

const files = readdirSync("dist", { recursive: true, encoding: "utf8" });
const declarations = files.filter((file) => file.endsWith(".d.ts"));
const { dts } = esm as { dts: { entry: Readonly<Record<string, string>> } };

/** The chunks that only the testing kit and the command line load, without their extension. */
const kitChunks = files
  .filter((file) => /^chunk-.*\.js$/.test(file))
  .map((file) => file.slice(0, -".js".length))
  .filter((chunk) => {
    const users = files.filter(
      (file) =>
        file.endsWith(".js") && readFileSync(`dist/${file}`, "utf8").includes(`/${chunk}.js"`),
    );
    return users.every((file) => ["testing.js", "cli.js"].includes(file));
  });

/**
 * Keeps the code of the kit once: the ESM file of a chunk exports what its CommonJS file has. That file takes the
 * rest of the package by `#dist`, so that it meets the same copy as the importer: the ESM one, except in Jest.
 */
async function keepKitOnce(): Promise<void> {
  for (const chunk of kitChunks) {
    const esm = await readFile(`dist/${chunk}.js`, "utf8");
    const [, list = ""] = /\nexport \{([^}]*)\};\s*$/.exec(esm) ?? [];
    const names = list.split(",").map((name) => name.trim().replace(/^.* as /, ""));
    if (names.length < 2) throw new Error(`${chunk}.js has no list of exports`);
    // Loaders that make CommonJS of it, such as tsx, have no default there: the file says that it was ESM.
    const wrapper = `import * as cjs from "./${chunk}.cjs";\nexport const { ${names.join(", ")} } = cjs.default ?? cjs;\n`;
    await writeFile(`dist/${chunk}.js`, wrapper);
    // Not minified: an uncaught error would print the whole file, which is one line.
    const { code } = await transform(esm, { format: "cjs", target: "node20" });
    const linked = code.replaceAll(/require\("\.\/([\w-]+)\.js"\)/g, (_whole, file: string) =>
      kitChunks.includes(file) ? `require("./${file}.cjs")` : `require("#dist/${file}")`,
    );
    await writeFile(`dist/${chunk}.cjs`, linked);
  }
}

// The CommonJS build: each file of the ESM build, chunks included, becomes one `.cjs` file. Built from
// the sources, every entry would get a copy of the core and `instanceof` would fail between subpaths;
// with tsup's own splitting the classes are rewritten.
export default defineConfig({
  // The command line and its page are run and never required.
  entry: files
    .filter((file) => file.endsWith(".js") && !/^(?:cli|page-html-.*)\.js$/.test(file))
    .filter((file) => !kitChunks.includes(file.slice(0, -".js".length)))
    .map((file) => `dist/${file}`),
  outDir: "dist",
  format: "cjs",
  target: "node20",
  platform: "neutral",
  splitting: false,
  // Jest and old bundlers alone load these files: `require` of Node 20.19 and later loads the others.
  minify: true,
  keepNames: true,
  external: ["#crypto", /^node:/],
  removeNodeProtocol: false,
  outExtension: () => ({ js: ".cjs" }),
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
  // The types are there once, for CommonJS. Those for ESM export them again, which halves their part of the tarball.
  async onSuccess() {
    for (const file of declarations) {
      const name = file.replace(/\.d\.ts$/, "");
      const types = await readFile(`dist/${file}`, "utf8");
      const cjs = types.replaceAll(/(from|import) '(\.\/[^']+)\.js'/g, "$1 '$2.cjs'");
      await writeFile(`dist/${name}.d.cts`, cjs);
      if (name in dts.entry) await writeFile(`dist/${file}`, `export * from "./${name}.cjs";\n`);
      else await rm(`dist/${file}`);
    }
    await keepKitOnce();
  },
});
