import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createHandledProbe, readHandlerSwitch } from "../../../cli/doctor/probes.js";
import { receiverConformance } from "../../../kit/conformance/receiver-conformance.js";
import {
  runConformance,
  type ConformanceReport,
} from "../../../kit/conformance/run-conformance.js";
import { missingPrograms } from "../../engines.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import { freePort } from "../../support/free-port.js";

/** A language in which a receiver is written. */
export interface Language {
  readonly name: "Python" | "PHP";
  /** The command that serves on `PORT`. */
  readonly command: readonly [command: string, ...argv: string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** The cases that its server fails, whatever the receiver does. */
  readonly serverFails?: readonly string[];
}

/** A receiver that runs. */
export interface ForeignReceiver {
  readonly origin: string;
  /** Ends its processes. */
  readonly stop: () => void;
}

const STARTING_MS = 30_000;

const sourceOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** What this machine lacks for a language; undefined if its receiver can run. */
export function missingOf({ name }: Language): string | undefined {
  return missingPrograms.some((one) => one.name === name) ? `${name} is not installed` : undefined;
}

/** The languages, each with its own server as a partner would use it. */
export const LANGUAGES: readonly Language[] = [
  {
    name: "Python",
    command: ["python3", sourceOf("receiver.py")],
  },
  {
    name: "PHP",
    command: [
      "php",
      "-d",
      "display_errors=0",
      "-d",
      "log_errors=0",
      "-S",
      "127.0.0.1:PORT",
      sourceOf("receiver.php"),
    ],
    // One process serves one request at a time.
    env: { PHP_CLI_SERVER_WORKERS: "16" },
    // The development server never sends 100 Continue. A server in front of PHP does.
    serverFails: ["expect_continue"],
  },
];

/** The folder of what receivers write, and its removal. */
export function workFolder(): { readonly folder: string; readonly remove: () => void } {
  const folder = mkdtempSync(path.join(tmpdir(), "igw-language-"));
  return {
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Starts a receiver with a flaw, or without one, on a free port. */
export async function startReceiver(
  { name, command, env }: Language,
  folder: string,
  flaw = "",
): Promise<ForeignReceiver> {
  const port = String(await freePort());
  const [file, ...argv] = command;
  const state = mkdtempSync(path.join(folder, "state-"));
  const child = spawn(
    file,
    argv.map((part) => part.replace("PORT", port)),
    {
      env: {
        PATH: process.env["PATH"],
        ...env,
        PORT: port,
        STATE: state,
        FLAW: flaw,
        GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
      },
      // A group of its own, which ends together with the workers of the server.
      detached: true,
      stdio: "ignore",
    },
  );
  const stop = (): void => {
    if (child.pid === undefined || child.exitCode !== null) return;
    process.kill(-child.pid, "SIGKILL");
  };
  const origin = `http://127.0.0.1:${port}`;
  try {
    await untilServing(origin, child);
  } catch (error) {
    stop();
    throw new Error(`${name}'s receiver does not serve`, { cause: error });
  }
  return { origin, stop };
}

/** Resolves when the receiver answers. Patient, since a busy machine starts it late. */
async function untilServing(origin: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + STARTING_MS;
  for (;;) {
    try {
      const response = await fetch(`${origin}/handled/none`);
      if ((await response.text()) === "0") return;
    } catch (error) {
      if (child.exitCode !== null || performance.now() > until) throw error;
    }
    await wait(25);
  }
}

/** Runs the cases with these ids, or all of them, with the probes that `doctor` has. */
export function judgeReceiver(
  { origin }: ForeignReceiver,
  ids?: readonly string[],
): Promise<ConformanceReport> {
  const control = (name: string, way: string): string => `${origin}/control/${name}/${way}`;
  const urls = {
    "while-failing-on": control("failing", "on"),
    "while-failing-off": control("failing", "off"),
    "while-slow-on": control("slow", "on"),
    "while-slow-off": control("slow", "off"),
  };
  const cases = receiverConformance({
    target: `${origin}/webhook`,
    secret: TEST_SECRET,
    handled: createHandledProbe(`${origin}/handled/{id}`, {}),
    whileFailing: readHandlerSwitch("while-failing", urls, {})?.during,
    whileSlow: readHandlerSwitch("while-slow", urls, {})?.during,
  });
  return runConformance(cases.filter(({ id }) => ids?.includes(id) ?? true));
}
