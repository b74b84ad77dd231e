import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { TEST_SECRET } from "../../../kit/index.js";
import { d1Schema } from "../../../src/inbox/cloudflare/index.js";
import { bundleWorker } from "../../support/cloudflare/bundle-worker.js";
import {
  type Miniflare,
  missingMiniflare,
  startMiniflare,
  type TestD1,
  type WorkerOptions,
} from "../../support/cloudflare/miniflare.js";
import { describeService } from "../../support/describe-service.js";
import { freshAlarm, type FreshDelivery } from "../../support/package/example-process.js";
import { installPackage } from "../../support/package/installed-package.js";

/** Bundles a file of the repository as the Worker of a project with nothing but the packed package. */
async function installedWorker(file: string): Promise<WorkerOptions> {
  const project = installPackage("module");
  try {
    project.copy(file, "worker.mjs");
    const script = await bundleWorker(pathToFileURL(path.join(project.folder, "worker.mjs")));
    const bindings = { GATEWAY_WEBHOOK_SECRET: TEST_SECRET };
    return { script, d1Databases: { DB: "db" }, bindings };
  } finally {
    project.remove();
  }
}

const ISOLATES = ["one", "other"];

describeService("a receiver with d1Store in a Worker", missingMiniflare, () => {
  const folder = mkdtempSync(path.join(tmpdir(), "d1-receiver-"));
  let worker: WorkerOptions;
  let running: Miniflare;
  let database: TestD1;

  beforeAll(async () => {
    worker = await installedWorker("test/platforms/cloudflare/effects-worker.mjs");
    await start(0);
    await database.prepare(d1Schema()).run();
    await database.prepare("CREATE TABLE effects (id TEXT, takeover INTEGER)").run();
  });
  afterAll(async () => {
    await running.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(handlerMs: number): Promise<void> {
    const bindings = { ...worker.bindings, HANDLER_MS: String(handlerMs) };
    const workers = ISOLATES.map((name) => ({
      ...worker,
      name,
      bindings,
      routes: [`http://${name}/*`],
    }));
    running = await startMiniflare({ workers, d1Persist: folder });
    database = await running.getD1Database("DB");
  }

  /** Ends all isolates, and starts new ones on the same database. */
  async function restart(handlerMs: number): Promise<void> {
    await running.dispose();
    await start(handlerMs);
  }

  async function outcome({ headers, body }: FreshDelivery, index = 0): Promise<unknown> {
    const url = `http://${ISOLATES[index % 2] ?? ""}/`;
    const answer = await running.dispatchFetch(url, { method: "POST", headers, body });
    const { outcome, error } = (await answer.json()) as {
      outcome?: string;
      error?: { code: string };
    };
    return outcome ?? error?.code.toLowerCase();
  }

  async function effectsOf({ id }: FreshDelivery): Promise<readonly unknown[]> {
    const effects = database.prepare("SELECT takeover FROM effects WHERE id = ?").bind(id);
    return (await effects.all()).results;
  }

  it("deliveries of an isolate are duplicates in later isolates", async () => {
    const sent = await Promise.all(Array.from({ length: 20 }, () => freshAlarm()));
    const once = await Promise.all(sent.map((one) => outcome(one)));
    await restart(0);
    const again = await Promise.all(sent.map((one) => outcome(one)));
    expect(new Set(once)).toEqual(new Set(["handled"]));
    expect(new Set(again)).toEqual(new Set(["duplicate"]));
    for (const one of sent) expect(await effectsOf(one)).toHaveLength(1);
  });

  it("a handler past its time goes on under ctx.waitUntil", async () => {
    await restart(1_500);
    const sent = await freshAlarm();
    expect(await outcome(sent)).toBe("handler_timeout");
    expect(await outcome(sent)).toBe("in_flight");
    await vi.waitUntil(async () => (await outcome(sent)) === "duplicate", { timeout: 20_000 });
    await restart(0);
    expect(await outcome(sent)).toBe("duplicate");
    expect(await effectsOf(sent)).toEqual([{ takeover: 0 }]);
  });
});
