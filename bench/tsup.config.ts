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
  {
    ...common,
    entry: ["src/**/*.ts", "!src/{stores,queues,soak,partner}.ts", "!src/stores/**"],
    format: "esm",
  },
  {
    ...common,
    entry: { "cold-start/child-require": "src/cold-start/child-require.cts" },
    format: "cjs",
    outExtension: () => ({ js: ".cjs" }),
  },
  // As on a serverless platform: one file with everything that the receiver needs.
  {
    ...common,
    entry: { "cold-start/contenders/ours-bundled": "src/cold-start/contenders/ours.ts" },
    format: "esm",
    bundle: true,
    splitting: false,
    minify: true,
    noExternal: [/./],
  },
  // Bundled, since they use the tests' helpers to start their servers.
  {
    ...common,
    entry: {
      stores: "src/stores.ts",
      queues: "src/queues.ts",
      soak: "src/soak.ts",
      partner: "src/partner.ts",
      "bootstrap-process": "../test/support/lambda/bootstrap-process.ts",
      "stores/receiver-process": "src/stores/receivers/receiver-process.ts",
      "stores/load-process": "src/stores/load/load-process.ts",
    },
    format: "esm",
    bundle: true,
    splitting: false,
    skipNodeModulesBundle: true,
  },
]);
