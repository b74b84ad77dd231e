import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// The unit tests on one backend, without those that take long and kill nothing the others do not.
export default defineConfig({
  resolve: {
    alias: { "#crypto": fileURLToPath(new URL("./src/crypto/node.ts", import.meta.url)) },
  },
  test: {
    include: ["test/unit/**/*.test.ts"],
    exclude: ["test/unit/fuzz.test.ts", "test/unit/model.test.ts"],
  },
});
