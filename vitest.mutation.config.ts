import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const project = (backend: "node" | "web", include: string[]) => ({
  resolve: {
    alias: {
      "#crypto": fileURLToPath(new URL(`./src/crypto/${backend}.ts`, import.meta.url)),
    },
  },
  test: {
    name: backend,
    include,
    // They take long and kill nothing that the others do not; the last compares a source file, to which
    // Stryker adds a line.
    exclude: [
      "test/unit/fuzz.test.ts",
      "test/unit/model.test.ts",
      "test/unit/plain-records.test.ts",
    ],
  },
});

// The unit tests on one backend, and on the other those that show how a promise is awaited.
export default defineConfig({
  test: {
    projects: [
      project("node", ["test/unit/**/*.test.ts"]),
      project("web", ["test/unit/rotation.test.ts", "test/unit/secret-order*.test.ts"]),
    ],
  },
});
