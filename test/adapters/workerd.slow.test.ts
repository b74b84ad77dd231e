import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { TEST_SECRET, receiverConformance, runConformance } from "../../kit/index.js";
import { startLedgerServer, type LedgerServer } from "../platforms/ledger-server.js";
import { describeService } from "../support/describe-service.js";
import { delivery } from "../support/deliveries.js";
import { missingWorkerd, startWorker, type RunningWorker } from "../support/adapters/workerd.js";

/** Every attempt is signed anew, as the gateway does. */
async function attempt(
  url: string,
  id: string,
): Promise<{ status: number; outcome: string | undefined }> {
  const timestamp = Math.floor(Date.now() / 1000);
  const request = await delivery({ id, timestamp, secret: TEST_SECRET });
  const response = await fetch(url, {
    method: "POST",
    headers: request.headers,
    body: request.body,
  });
  const { outcome, error } = (await response.json()) as {
    outcome?: string;
    error?: { code: string };
  };
  return { status: response.status, outcome: outcome ?? error?.code.toLowerCase() };
}

describeService("workerd", missingWorkerd, () => {
  let ledgerServer: LedgerServer;
  let worker: RunningWorker;

  beforeAll(async () => {
    ledgerServer = await startLedgerServer();
    worker = await startWorker(ledgerServer.port);
  });

  afterAll(async () => {
    await worker.stop();
    await ledgerServer.close();
  });

  it("keeps a handler past its time alive by ctx.waitUntil, and its retry is a duplicate", async () => {
    const url = `${worker.url}late`;
    expect(await attempt(url, "held")).toEqual({ status: 503, outcome: "handler_timeout" });
    await vi.waitUntil(() => ledgerServer.ledger.handled("held") === 1, { timeout: 20_000 });
    await vi.waitUntil(async () => (await attempt(url, "held")).outcome === "duplicate", {
      timeout: 20_000,
      interval: 100,
    });
    expect(ledgerServer.ledger.handled("held")).toBe(1);
  });

  it("ends a handler past its time without ctx.waitUntil, and a later attempt takes over instead of a 409 forever", async () => {
    const url = `${worker.url}late-without-context`;
    expect(await attempt(url, "ended")).toEqual({ status: 503, outcome: "handler_timeout" });
    expect(await attempt(url, "ended")).toEqual({ status: 409, outcome: "in_flight" });
    // Its renewals are overdue by two leases of a second, and then the store grants the next claim.
    await vi.waitUntil(async () => (await attempt(url, "ended")).outcome === "handler_timeout", {
      timeout: 20_000,
      interval: 200,
    });
    expect(ledgerServer.ledger.handled("ended")).toBe(0);
  });

  it("passes every conformance case", async () => {
    const { handled, whileFailing, whileSlow } = ledgerServer.ledger;
    const suite = receiverConformance({
      target: worker.url,
      secret: TEST_SECRET,
      handled,
      whileFailing,
      whileSlow,
    });
    const { results } = await runConformance(suite);
    expect(results.filter(({ result }) => result !== "passed")).toEqual([]);
  });
});
