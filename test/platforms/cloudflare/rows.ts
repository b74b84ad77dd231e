import { readFileSync } from "node:fs";
import { TEST_SECRET } from "../../../kit/index.js";
import { d1Schema } from "../../../src/inbox/cloudflare/index.js";
import { bundleWorker } from "../../support/cloudflare/bundle-worker.js";
import { startMiniflare } from "../../support/cloudflare/miniflare.js";
import type { Platform } from "../platform.js";

/** Cloudflare Workers with D1: workerd, started by miniflare. */
export const rows: readonly Platform[] = [
  {
    name: "Cloudflare Workers with D1",
    folder: "cloudflare",
    ownAnswers: {
      expect_continue:
        "nothing where 100 Continue is asked for, by miniflare's own server in front of the Worker",
    },
    version: () => {
      const manifest = new URL("node_modules/miniflare/package.json", import.meta.url);
      const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
      return `miniflare ${version}`;
    },
    app: "app.mjs",
    async start(ledgerUrl) {
      const running = await startMiniflare({
        workers: [
          {
            script: await bundleWorker(new URL("app.mjs", import.meta.url)),
            d1Databases: { DB: "db" },
            bindings: { GATEWAY_WEBHOOK_SECRET: TEST_SECRET, LEDGER_URL: ledgerUrl },
          },
        ],
        onOutput: () => undefined,
      });
      await (await running.getD1Database("DB")).prepare(d1Schema()).run();
      return {
        target: String(await running.ready),
        stop: () => running.dispose(),
      };
    },
  },
];
