import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { TEST_SECRET } from "../../../src/testing/index.js";
import { freePort } from "../../support/free-port.js";
import type { Platform, RunningPlatform } from "../platform.js";

const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** The rows of one major version of Nest, whose app is compiled to CommonJS as Nest's command line does. */
export function nestRows(folder: string, name: string): readonly Platform[] {
  const root = new URL(`../${folder}/`, import.meta.url);
  return (["express", "fastify"] as const).map((platform) => ({
    name: `${name} on ${platform === "express" ? "Express" : "Fastify"}`,
    folder,
    version: () => {
      const manifest = new URL("node_modules/@nestjs/core/package.json", root);
      return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
    },
    app: "app.cts",
    start: (ledgerUrl) => startApp(fileURLToPath(root), platform, ledgerUrl),
  }));
}

async function startApp(
  cwd: string,
  platform: string,
  ledgerUrl: string,
): Promise<RunningPlatform> {
  execFileSync(process.execPath, [TSC, "-p", "."], { cwd, stdio: "pipe" });
  const port = await freePort();
  const server = spawn(process.execPath, ["build/app.cjs"], {
    cwd,
    env: {
      ...process.env,
      GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
      LEDGER_URL: ledgerUrl,
      NEST_PLATFORM: platform,
      PORT: String(port),
    },
  });
  const ended = once(server, "exit");
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.on("data", (text: Buffer) => (output += text.toString()));
  }
  const stop = async (): Promise<void> => {
    server.kill("SIGKILL");
    await ended;
  };
  const target = `http://127.0.0.1:${port}/webhooks/gateway`;
  const endsAt = performance.now() + START_TIMEOUT_MS;
  while (!(await isUp(target))) {
    if (server.exitCode === null && performance.now() < endsAt) continue;
    await stop();
    throw new Error(`${cwd} on ${platform} did not start:\n${output}`);
  }
  return { target, output: () => output, stop };
}

async function isUp(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).text();
    return true;
  } catch {
    await sleep(50);
    return false;
  }
}
