import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { TEST_SECRET } from "../../kit/index.js";
import { copyPackage, pathIn } from "../platforms/install.js";
import { type LedgerServer, startLedgerServer } from "../platforms/ledger-server.js";
import type { Platform, RunningPlatform } from "../platforms/platform.js";
import { workerdRow } from "../platforms/rows.js";
import { runRow } from "../platforms/run-row.js";
import { delivery } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";

/** Why workerd cannot run here; undefined if it can. */
const missingWorkerd = existsSync(pathIn("workerd", "node_modules/@cloudflare"))
  ? undefined
  : "workerd is not installed (npx tsx test/platforms/install-for-tests.ts)";

/** The built package and a worker, in the folder in which workerd is installed. */
function prepare(app: string): Platform {
  const platform = workerdRow(app);
  copyPackage(platform.folder, platform.files);
  return platform;
}

/** The outcome of an attempt, or the code of its error. Each is signed anew, as the gateway does. */
async function attempt(url: string, id: string): Promise<string | undefined> {
  const timestamp = Math.floor(Date.now() / 1000);
  const { headers, body } = await delivery({ id, timestamp, secret: TEST_SECRET });
  const response = await fetch(url, { method: "POST", headers, body });
  const answer = (await response.json()) as { outcome?: string; error?: { code: string } };
  return `${String(response.status)} ${answer.outcome ?? answer.error?.code.toLowerCase() ?? ""}`;
}

describeService("workerd", missingWorkerd, () => {
  let ledgerServer: LedgerServer;
  let worker: RunningPlatform;

  beforeAll(async () => {
    ledgerServer = await startLedgerServer();
    worker = await prepare("workerd-late.mjs").start(ledgerServer.url);
  });

  afterAll(async () => {
    await worker.stop();
    await ledgerServer.close();
  });

  it("keeps a handler past its time alive by ctx.waitUntil, and its retry is a duplicate", async () => {
    const url = worker.target as string;
    expect(await attempt(url, "held")).toBe("503 handler_timeout");
    await vi.waitUntil(() => ledgerServer.ledger.handled("held") === 1, { timeout: 20_000 });
    await vi.waitUntil(async () => (await attempt(url, "held")) === "200 duplicate", {
      timeout: 20_000,
      interval: 100,
    });
    expect(ledgerServer.ledger.handled("held")).toBe(1);
  });

  it("ends a handler past its time without ctx.waitUntil, and a later attempt takes over instead of a 409 forever", async () => {
    const url = `${worker.target as string}/without-context`;
    expect(await attempt(url, "ended")).toBe("503 handler_timeout");
    expect(await attempt(url, "ended")).toBe("409 in_flight");
    // Its renewals are overdue by two leases of a second, and then the store grants the next claim.
    await vi.waitUntil(async () => (await attempt(url, "ended")) === "503 handler_timeout", {
      timeout: 20_000,
      interval: 200,
    });
    expect(ledgerServer.ledger.handled("ended")).toBe(0);
  });

  it("passes every conformance case", async () => {
    expect((await runRow(prepare("workerd.mjs"))).complaints).toEqual([]);
  });
});
