import { afterAll, beforeAll, expect, it } from "vitest";
import { d1Schema } from "../../src/inbox/cloudflare/index.js";
import { TEST_SECRET } from "../../kit/index.js";
import { bundleWorker } from "../support/cloudflare/bundle-worker.js";
import {
  missingMiniflare,
  startMiniflare,
  type Miniflare,
} from "../support/cloudflare/miniflare.js";
import { describeService } from "../support/describe-service.js";
import { freshAlarm, type FreshDelivery } from "../support/package/example-process.js";

describeService("examples/cloudflare.ts", missingMiniflare, () => {
  let running: Miniflare;

  beforeAll(async () => {
    const script = await bundleWorker(new URL("../../examples/cloudflare.ts", import.meta.url));
    const bindings = { GATEWAY_WEBHOOK_SECRET: TEST_SECRET };
    running = await startMiniflare({
      workers: [{ script, d1Databases: { DB: "db" }, bindings }],
    });
    const database = await running.getD1Database("DB");
    await database.prepare(d1Schema()).run();
    await database
      .prepare("CREATE TABLE alarms (delivery_id TEXT PRIMARY KEY, account_id, event_type)")
      .run();
  });
  afterAll(() => running.dispose());

  async function post(path: string, sent: FreshDelivery): Promise<number> {
    return (await running.dispatchFetch(`http://worker${path}`, sent)).status;
  }

  it("examples/cloudflare.ts writes an alarm once, and answers 404 at other paths", async () => {
    const sent = await freshAlarm();
    expect(await post("/webhooks/gateway", sent)).toBe(200);
    expect(await post("/webhooks/gateway", sent)).toBe(200);
    expect(await post("/", sent)).toBe(404);
    const database = await running.getD1Database("DB");
    const { results } = await database.prepare("SELECT * FROM alarms").all();
    expect(results).toEqual([{ delivery_id: sent.id, account_id: 42, event_type: "email_hacked" }]);
  });

  it("examples/cloudflare.ts deletes what is past its retention by its cron trigger", async () => {
    const database = await running.getD1Database("DB");
    await database.prepare("INSERT INTO gateway_deliveries VALUES ('old', NULL, NULL, 0, 1)").run();
    await (await running.getWorker()).scheduled({ cron: "17 * * * *" });
    const { results } = await database
      .prepare("SELECT key FROM gateway_deliveries WHERE key = 'old'")
      .all();
    expect(results).toEqual([]);
  });
});
