import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { freePort } from "../free-port.js";
import { REPOSITORY, installPackage } from "../package/installed-package.js";

const WORKERD = path.join(
  REPOSITORY,
  "test/platforms/workerd/node_modules/@cloudflare/workerd-linux-64/bin/workerd",
);

/** Why workerd cannot run here; undefined if it can. */
export const missingWorkerd = existsSync(WORKERD)
  ? undefined
  : "workerd is not installed (npx tsx test/platforms/install-for-tests.ts)";

/** A worker with the packed package, in its own process. */
export type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

/** Bundles `test/platforms/workerd/worker.mjs`, and serves it; its fetches go to `ledgerPort`. */
export async function startWorker(ledgerPort: number) {
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
