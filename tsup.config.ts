import { defineConfig } from "tsup";

// The ESM build. Its entries share their chunks, so that every subpath has the same classes.
// `tsup.cjs.config.ts` makes CommonJS of it.
export default defineConfig({
  entry: {
    index: "src/index.ts",
    schemas: "src/records/standard-schemas.ts",
    // A fixed name: decode.ts requires the CommonJS file after a failed import.
    validation: "src/records/validation.ts",
    express: "adapters/express.ts",
    hono: "adapters/hono.ts",
    node: "adapters/node.ts",
    fetch: "adapters/fetch.ts",
    adapter: "adapters/http/index.ts",
    redis: "src/stores/redis/index.ts",
    postgres: "src/stores/postgres/index.ts",
    sqlite: "src/stores/sqlite/index.ts",
    inbox: "src/inbox/index.ts",
    "pg-boss": "src/inbox/pg-boss/index.ts",
    bullmq: "src/inbox/bullmq/index.ts",
    testing: "src/testing/index.ts",
    cli: "src/cli/main.ts",
    "crypto/node": "src/signature/crypto/node.ts",
    "crypto/web": "src/signature/crypto/web.ts",
  },
  format: "esm",
  target: "node20",
  platform: "neutral",
  splitting: true,
  clean: true,
  // Bundled, the choice between the crypto backends would be made here, for every platform.
  external: ["#crypto", /^node:/],
  removeNodeProtocol: false,
  dts: {
    entry: {
      index: "src/index.ts",
      schemas: "src/records/standard-schemas.ts",
      express: "adapters/express.ts",
      hono: "adapters/hono.ts",
      node: "adapters/node.ts",
      fetch: "adapters/fetch.ts",
      adapter: "adapters/http/index.ts",
      redis: "src/stores/redis/index.ts",
      postgres: "src/stores/postgres/index.ts",
      sqlite: "src/stores/sqlite/index.ts",
      inbox: "src/inbox/index.ts",
      "pg-boss": "src/inbox/pg-boss/index.ts",
      bullmq: "src/inbox/bullmq/index.ts",
      testing: "src/testing/index.ts",
    },
  },
});
