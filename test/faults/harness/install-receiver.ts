import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { ENTRIES } from "../../../release/entries.js";
import { ENGINES } from "../../engines.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const RECEIVERS = fileURLToPath(new URL("../receivers", import.meta.url));

/**
 * Makes a project in `folder` with the built package and the receiver's program. Returns the path of the program.
 * The program is plain JavaScript: a loader would dominate the start-up time, and would resolve the package to
 * its sources through tsconfig.json.
 */
export function installReceiver(folder: string): string {
  const modules = join(folder, "node_modules");
  link(ROOT, join(modules, "identity-gateway-webhooks"));
  for (const { engine, peers = [] } of ENTRIES) {
    const platform = ENGINES[engine ?? ""]?.folder ?? "";
    for (const name of peers.flatMap(({ names }) => names)) {
      const own = join(ROOT, "node_modules", name);
      // The engine installs it there when it starts.
      const other = join(ROOT, "test/platforms", platform, "node_modules", name);
      link(existsSync(own) ? own : other, join(modules, name));
    }
  }
  link(join(ROOT, "node_modules/@hono/node-server"), join(modules, "@hono/node-server"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  buildSync({
    entryPoints: ["receiver.ts", "setups/*.ts"].map((file) => join(RECEIVERS, file)),
    outdir: folder,
    outbase: RECEIVERS,
    // Each process only loads the parts and drivers that it needs.
    splitting: true,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
  });
  return join(folder, "receiver.js");
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, "dir");
}
