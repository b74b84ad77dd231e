import path from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { REPOSITORY } from "../support/package/installed-package.js";

const ADAPTERS = ["express", "fastify", "koa", "hono", "node", "fetch"];

const entryOf = (adapter: string): string => `dist/${adapter}.js`;

test.each(ADAPTERS)(
  "a bundle of /%s has nothing of a framework and nothing of another adapter",
  async (adapter) => {
    const { metafile } = await build({
      entryPoints: [path.join(REPOSITORY, entryOf(adapter))],
      absWorkingDir: REPOSITORY,
      bundle: true,
      write: false,
      metafile: true,
      treeShaking: false,
      format: "esm",
      platform: "node",
      tsconfigRaw: "{}",
      logLevel: "error",
    });
    const files = Object.keys(metafile.inputs);
    expect(files).toContain(entryOf(adapter));
    const others = ADAPTERS.filter((other) => other !== adapter).map(entryOf);
    expect(files.filter((file) => others.includes(file))).toEqual([]);
    expect(
      files.filter((file) => !/^(?:dist|node_modules\/(?:zod|lru-cache))\//.test(file)),
    ).toEqual([]);
    const external = Object.values(metafile.inputs)
      .flatMap(({ imports }) => imports)
      .filter((imported) => imported.external === true && !imported.path.startsWith("node:"));
    expect(external).toEqual([]);
  },
);
