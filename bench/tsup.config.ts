import { defineConfig, type Options } from "tsup";

const common: Options = {
  outDir: "dist",
  target: "node20",
  platform: "node",
  bundle: false,
  silent: true,
  removeNodeProtocol: false,
};

// Plain JavaScript files, run by `node` itself. A loader such as tsx wraps every function to keep its name,
// which costs time in the measured code, and takes `#crypto` from the sources.
export default defineConfig([
  { ...common, entry: ["src/**/*.ts", "!src/stores.ts", "!src/stores/**"], format: "esm" },
  {
    ...common,
    entry: { "cold-start/child-require": "src/cold-start/child-require.cts" },
    format: "cjs",
    outExtension: () => ({ js: ".cjs" }),
  },
  // One bundled file, since it uses the tests' helpers to start its servers.
  {
    ...common,
    entry: { stores: "src/stores.ts" },
    format: "esm",
    bundle: true,
    skipNodeModulesBundle: true,
  },
]);
