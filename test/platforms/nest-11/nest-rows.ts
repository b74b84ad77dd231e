import { fileURLToPath } from "node:url";
import type { Platform } from "../platform.js";
import { serverRow } from "../server-row.js";

const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));

/** The rows of one major version of Nest, whose app is compiled to CommonJS as Nest's command line does. */
export function nestRows(folder: string, name: string): readonly Platform[] {
  return (["express", "fastify"] as const).map((platform) =>
    serverRow({
      name: `${name} on ${platform === "express" ? "Express" : "Fastify"}`,
      folder,
      versionOf: "@nestjs/core",
      app: "app.cts",
      build: [process.execPath, TSC, "-p", "."],
      args: () => ["build/app.cjs"],
      path: "/webhooks/gateway",
      env: () => ({ NEST_PLATFORM: platform }),
    }),
  );
}
