import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { receiverConformance, runConformance, TEST_SECRET } from "../../kit/index.js";
import { type LedgerServer, startLedgerServer } from "../platforms/ledger-server.js";
import { delivery } from "../support/deliveries.js";
import { describeService } from "../support/describe-service.js";
import { freePort } from "../support/free-port.js";
import { installPackage, REPOSITORY } from "../support/package/installed-package.js";

const WORKERD = path.join(
  REPOSITORY,
  "test/platforms/workerd/node_modules/@cloudflare/workerd-linux-64/bin/workerd",
);

/** Why workerd cannot run here; undefined if it can. */
const missingWorkerd = existsSync(WORKERD)
  ? undefined
  : "workerd is not installed (npx tsx test/platforms/install-for-tests.ts)";

/** A worker with the packed package, in its own process. */
type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

/** Bundles `test/platforms/workerd/worker.mjs`, and serves it; its fetches go to `ledgerPort`. */
async function startWorker(ledgerPort: number) {
  const project = installPackage("module");
  for (const file of ["worker.mjs", "config.capnp"]) {
    project.copy(`test/platforms/workerd/${file}`, file);
  }
  const esbuild = path.join(REPOSITORY, "node_modules/esbuild/bin/esbuild");
  const bundling = ["--bundle", "--format=esm", "--conditions=workerd,worker", "--log-level=error"];
  execFileSync(esbuild, ["worker.mjs", ...bundling, "--outfile=worker.bundle.mjs"], {
    cwd: project.folder,
    stdio: "pipe",
  });
  const port = await freePort();
  const addresses = [
    `--socket-addr=http=127.0.0.1:${String(port)}`,
    `--external-addr=ledger=127.0.0.1:${String(ledgerPort)}`,
  ];
  const worker = spawn(WORKERD, ["serve", "config.capnp", ...addresses], {
    cwd: project.folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(worker, "exit");
  let complaints = "";
  worker.stderr.on("data", (text: Buffer) => (complaints += text.toString()));
  const stop = async (): Promise<void> => {
    worker.kill("SIGKILL");
    await ended;
    project.remove();
  };
  const url = `http://127.0.0.1:${String(port)}/`;
  while (!(await isUp(url))) {
    if (worker.exitCode !== null) {
      project.remove();
      throw new Error(`workerd did not start: ${complaints}`);
    }
  }
  return { url, stop };
}

async function isUp(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).text();
    return true;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return false;
  }
}

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
