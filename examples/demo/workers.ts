// npx tsx examples/demo/workers.ts, after npm run build
// Runs examples/workers-queues-d1.ts on workerd, with its queues and its database. GATEWAY_WEBHOOK_SECRET and PORT as
// for the other examples.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { d1Schema, type D1Binding } from "identity-gateway-webhooks/cloudflare";
import { TEST_SECRET } from "identity-gateway-webhooks/testing";
import { installServer } from "./install-server.js";

/** The part of miniflare that the demo uses. */
interface Miniflare {
  readonly ready: Promise<URL>;
  getD1Database(binding: string): Promise<D1Binding>;
}

const packages = await installServer(
  "cloudflare",
  "miniflare, which runs Workers on this machine,",
);
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("../workers-queues-d1.ts", import.meta.url))],
  bundle: true,
  write: false,
  format: "esm",
  logLevel: "error",
  conditions: ["workerd", "worker"],
  // Without the `paths` of tsconfig.json: the package as it is built.
  tsconfigRaw: "{}",
});
const { Miniflare } = createRequire(packages)("miniflare") as {
  Miniflare: new (options: object) => Miniflare;
};
const secret = process.env["GATEWAY_WEBHOOK_SECRET"] ?? TEST_SECRET;
const running = new Miniflare({
  modules: true,
  script: outputFiles[0]?.text,
  compatibilityDate: "2025-04-01",
  host: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 3000),
  bindings: { GATEWAY_WEBHOOK_SECRET: secret },
  d1Databases: { DB: "demo" },
  queueProducers: { QUEUE: "jobs", DEAD_QUEUE: "dead" },
  queueConsumers: { jobs: { maxBatchTimeout: 1, maxRetries: 100, deadLetterQueue: "dead" } },
});
const { port } = await running.ready;
const database = await running.getD1Database("DB");
await database.batch([database.prepare(d1Schema())]);
// Miniflare ends workerd, and this process, on SIGINT and SIGTERM.
console.log(`listening on http://127.0.0.1:${port}/webhooks/gateway`);
