import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const project = (backend: "node" | "web", include: string[]) => ({
  resolve: {
    alias: {
      "#crypto": fileURLToPath(
        new URL(`../../src/signature/crypto/${backend}.ts`, import.meta.url),
      ),
    },
  },
  test: {
    name: backend,
    include,
    // Stryker ends a test that hangs. A busy machine must not.
    testTimeout: 600_000,
    // They take long and kill nothing that the others do not; the last compares a source file, to which
    // Stryker adds a line.
    exclude: [
      "test/receiver/fuzz.test.ts",
      "test/receiver/model.test.ts",
      "test/records/plain-records.test.ts",
    ],
  },
});

// The unit tests on one backend, and on the other those that show how a promise is awaited.
export default defineConfig({
  test: {
    projects: [
      project("node", [
        "test/{receiver,delivery,signature,records,handling,answer,options,stores/memory}/**/*.test.ts",
      ]),
      project("web", ["test/signature/rotation.test.ts", "test/signature/secret-order*.test.ts"]),
    ],
  },
});
