import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { TEST_SECRET } from "../../src/testing/signed-delivery.js";
import { freePort } from "../support/free-port.js";
import { HERE, type Platform } from "./platforms.js";

/** A platform's server in a process of its own. */
export interface RunningPlatform {
  readonly url: string;
  /** Everything that it has written. */
  readonly output: () => string;
  readonly stop: () => Promise<void>;
}

const START_TIMEOUT_MS = 90_000;

/** Builds the app of a platform, starts it and waits until it answers. */
export async function startPlatform(
  platform: Platform,
  ledgerUrl: string,
): Promise<RunningPlatform> {
  const cwd = fileURLToPath(new URL(`${platform.folder}/`, HERE));
  const port = await freePort();
  // What an earlier run has compiled would be run again, changed or not.
  for (const made of [".next", ".nitro", ".output"]) {
    rmSync(new URL(`${platform.folder}/${made}`, HERE), { recursive: true, force: true });
  }
  const env = {
    ...process.env,
    GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
    LEDGER_URL: ledgerUrl,
    HOST: "127.0.0.1",
    PORT: String(port),
    NEXT_TELEMETRY_DISABLED: "1",
  };
  if (platform.build !== undefined) {
    execFileSync(process.execPath, platform.build, { cwd, env, stdio: "pipe" });
  }
  // A process group, as a development server starts processes of its own.
  const server = spawn(process.execPath, platform.start(port), { cwd, env, detached: true });
  const ended = once(server, "exit");
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.on("data", (text: Buffer) => (output += text.toString()));
  }
  const stop = async (): Promise<void> => {
    if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, "SIGKILL");
    await ended;
  };
  const url = `http://127.0.0.1:${port}${platform.path}`;
  try {
    await untilAnswered(url, () => server.exitCode !== null);
  } catch (error) {
    await stop();
    throw new Error(`${platform.name} did not start:\n${output}`, { cause: error });
  }
  return { url, output: () => output, stop };
}

async function untilAnswered(url: string, hasEnded: () => boolean): Promise<void> {
  const endsAt = performance.now() + START_TIMEOUT_MS;
  while (!hasEnded() && performance.now() < endsAt) {
    try {
      // The first request compiles the route.
      const { status } = await fetch(url, { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
      if (status === 200) return;
      throw new Error(`${url} answered ${status}`);
    } catch (error) {
      if (error instanceof Error && error.message.includes("answered")) throw error;
      await sleep(100);
    }
  }
  throw new Error(`${url} gave no answer`);
}
