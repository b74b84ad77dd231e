import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** What receivers import beside the package, as a partner's would. */
const DRIVERS = [
  ...["better-sqlite3", "bullmq", "hono", "mysql2", "pg", "pg-boss", "redis"],
  ...["@nats-io", "amqplib"],
];

/**
 * Makes a project in `folder` with the built package and the receiver's program. Returns the path of the program.
 * The program is plain JavaScript: a loader would dominate the start-up time, and would resolve the package to
 * its sources through tsconfig.json.
 */
export function installReceiver(folder: string): string {
  const modules = join(folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  symlinkSync(ROOT, join(modules, "identity-gateway-webhooks"), "dir");
  for (const driver of DRIVERS) {
    symlinkSync(join(ROOT, "node_modules", driver), join(modules, driver), "dir");
  }
  symlinkSync(
    join(ROOT, "test/platforms/dynamodb/node_modules/@aws-sdk"),
    join(modules, "@aws-sdk"),
  );
  symlinkSync(join(ROOT, "node_modules/@hono"), join(modules, "@hono"), "dir");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  buildSync({
    entryPoints: [fileURLToPath(new URL("../receivers/receiver.ts", import.meta.url))],
    outdir: folder,
    // Each process only loads the parts and drivers that it needs.
    splitting: true,
    ...{ bundle: true, packages: "external", platform: "node", format: "esm", target: "node20" },
  });
  return join(folder, "receiver.js");
}
