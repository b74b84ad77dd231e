import { TEST_SECRET } from "../../../kit/index.js";
import { d1Schema } from "../../../src/inbox/cloudflare/index.js";
import { bundleWorker } from "../../support/cloudflare/bundle-worker.js";
import { startMiniflare } from "../../support/cloudflare/miniflare.js";
import { exampleRow } from "../example-row.js";
import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";

const CONTINUE = {
  expect_continue:
    "nothing where 100 Continue is asked for, by miniflare's own server in front of the Worker",
};
const version = (): string => `miniflare ${installedVersion("cloudflare", "miniflare")}`;

/** Cloudflare Workers with D1: workerd, started by miniflare. */
export const rows: readonly Platform[] = [
  {
    name: "Cloudflare Workers with D1",
    folder: "cloudflare",
    ownAnswers: CONTINUE,
    version,
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
  exampleRow({
    name: "Cloudflare Workers with Queues and D1",
    folder: "cloudflare",
    example: "workers-queues-d1.ts",
    starter: "workers.ts",
    ownAnswers: CONTINUE,
    version,
    tooLarge: "409 to a body over 90 kB, since a message of Queues has at most 128 kB",
    remark: "`examples/workers-queues-d1.ts` as it is",
  }),
];
