import { defineConfig, type Options } from "tsup";

const common: Options = {
  outDir: "dist",
  target: "node20",
  platform: "node",
  bundle: false,
  silent: true,
  removeNodeProtocol: false,
};

// Plain files of plain JavaScript, run by `node` itself: a loader such as tsx wraps every function to
// keep its name, which the measured code would pay for, and takes `#crypto` from the sources.
export default defineConfig([
  { ...common, entry: ["src/**/*.ts", "!src/stores.ts", "!src/stores/**"], format: "esm" },
  {
    ...common,
    entry: { "cold-start/child-require": "src/cold-start/child-require.cts" },
    format: "cjs",
    outExtension: () => ({ js: ".cjs" }),
  },
  // In one piece, as it starts its servers by what the tests start theirs by.
  {
    ...common,
    entry: { stores: "src/stores.ts" },
    format: "esm",
    bundle: true,
    skipNodeModulesBundle: true,
  },
]);
