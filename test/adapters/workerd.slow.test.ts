import { existsSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { TEST_SECRET } from "../../kit/index.js";
import { copyPackage, pathIn } from "../platforms/install.js";
import { startLedgerServer } from "../platforms/ledger-server.js";
import type { Platform } from "../platforms/platform.js";
import { workerdRow } from "../platforms/rows.js";
import { runRow } from "../platforms/run-row.js";
import { delivery } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { startedForAll } from "../support/started-for-all.js";

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
  const ledgerServer = startedForAll(startLedgerServer);
  const worker = startedForAll(async () => {
    const { target, stop } = await prepare("workerd-late.mjs").start(ledgerServer().url);
    return { url: target as string, close: stop };
  });

  it("ends a handler past its time without ctx.waitUntil, and a later attempt takes over instead of a 409 forever", async () => {
    const { url } = worker();
    expect(await attempt(url, "ended")).toBe("503 handler_timeout");
    expect(await attempt(url, "ended")).toBe("409 in_flight");
    // Its renewals are overdue by two leases of a second, and then the store grants the next claim.
    await vi.waitUntil(async () => (await attempt(url, "ended")) === "503 handler_timeout", {
      timeout: 20_000,
      interval: 200,
    });
    expect(ledgerServer().ledger.handled("ended")).toBe(0);
  });

  it("passes every conformance case", async () => {
    expect((await runRow(prepare("workerd.mjs"))).complaints).toEqual([]);
  });
});
