import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { REPOSITORY } from "./package/installed-package.js";
import { installPlatform } from "./platform-packages.js";
import { temporaryFolder } from "./temporary-folder.js";

/**
 * Compiles `code`, which uses stores and queues of the package with the real types of their clients. `platform`: the
 * folder of `test/platforms/` that has them. Returns what the compiler prints: nothing if each use is right.
 */
export async function compileUses(platform: string, code: string): Promise<string> {
  const folder = temporaryFolder(onTestFinished);
  const modules = join(fileURLToPath(await installPlatform(platform)), "node_modules");
  symlinkSync(modules, folder.at("node_modules"), "dir");
  folder.write("package.json", '{"type":"module"}');
  folder.write("uses.ts", code);
  const compilerOptions = {
    target: "ES2022",
    lib: ["ES2023", "DOM"],
    module: "nodenext",
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [join(REPOSITORY, "node_modules/@types")],
    paths: {
      "#crypto": [join(REPOSITORY, "src/signature/crypto/node.ts")],
      "identity-gateway-webhooks/*": ["stores", "inbox"].map((room) =>
        join(REPOSITORY, `src/${room}/*/index.ts`),
      ),
    },
  };
  folder.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["uses.ts"] }));
  const argv = [join(REPOSITORY, "node_modules/typescript/bin/tsc"), "-p", folder.at()];
  return spawnSync(process.execPath, argv, { encoding: "utf8" }).stdout;
}
