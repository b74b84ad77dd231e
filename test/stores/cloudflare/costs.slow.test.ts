import { expect, it } from "vitest";
import { bundleWorker } from "../../support/cloudflare/bundle-worker.js";
import type { D1Costs } from "../../support/cloudflare/costs-worker.js";
import { missingMiniflare, startMiniflare } from "../../support/cloudflare/miniflare.js";
import { describeService } from "../../support/describe-service.js";

const WORKER = new URL("../../support/cloudflare/costs-worker.ts", import.meta.url);

describeService("the costs of d1Store", missingMiniflare, () => {
  it("a handled delivery costs two written rows, a duplicate none, and an id at most 70 bytes", async () => {
    const running = await startMiniflare({
      workers: [{ script: await bundleWorker(WORKER), d1Databases: { DB: "db" } }],
    });
    const answer = await running.dispatchFetch("http://worker/", { method: "GET" });
    const { rows, bytesPerId } = (await answer.json()) as D1Costs;
    await running.dispose();
    process.stdout.write(`D1: ${bytesPerId.toFixed(1)} bytes of file per remembered id\n`);
    expect(rows).toEqual({
      handled: { written: 2, read: 1 },
      duplicate: { written: 0, read: 1 },
      failed: { written: 2, read: 3 },
      claimed: { written: 1, read: 1 },
      inFlight: { written: 0, read: 1 },
      renewed: { written: 1, read: 2 },
    });
    expect(bytesPerId).toBeLessThan(70);
    expect(bytesPerId).toBeGreaterThan(36);
  });
});
