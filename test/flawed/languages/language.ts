import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { TEST_SECRET } from "../../support/deliveries.js";
import { freePort } from "../../support/free-port.js";

/** A language in which a receiver is written. */
export interface Language {
  readonly name: "Python" | "Go" | "PHP" | "Ruby" | "Perl";
  /** What this machine lacks. Undefined if the receiver can run. */
  readonly missing: () => string | undefined;
  /** The command that serves on `PORT`. Compiles the receiver first if need be. */
  readonly command: (folder: string) => readonly [command: string, ...argv: string[]];
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

/** The path of a command. Debian's own comes first: it sees Debian's packages. */
function find(command: string): string | undefined {
  const folders = ["/usr/bin", "/usr/lib/go/bin", ...(process.env["PATH"] ?? "").split(":")];
  return folders.map((folder) => path.join(folder, command)).find((file) => existsSync(file));
}

function missingCommand(command: string): string | undefined {
  return find(command) === undefined ? `${command} is not installed` : undefined;
}

const found = (command: string): string => find(command) ?? command;

/** The languages, each with its own server as a partner would use it. */
export const LANGUAGES: readonly Language[] = [
  {
    name: "Python",
    missing: () => missingCommand("python3"),
    command: () => [found("python3"), sourceOf("receiver.py")],
  },
  {
    name: "Go",
    missing: () => missingCommand("go"),
    command(folder) {
      const binary = path.join(folder, "receiver");
      // Once for all flaws.
      if (!existsSync(binary)) {
        execFileSync(found("go"), ["build", "-o", binary, sourceOf("receiver.go")], {
          cwd: folder,
          // The standard library alone, and never a download.
          env: { HOME: folder, ...process.env, GO111MODULE: "off", GOFLAGS: "", GOPROXY: "off" },
        });
      }
      return [binary];
    },
  },
  {
    name: "PHP",
    missing: () => missingCommand("php"),
    command: () => [
      found("php"),
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
  {
    name: "Ruby",
    missing() {
      const ruby = find("ruby");
      if (ruby === undefined) return "ruby is not installed";
      try {
        const gems = ["-e", 'require "sinatra/base"; require "rack/handler/puma"'];
        execFileSync(ruby, gems, { stdio: "pipe" });
        return undefined;
      } catch {
        return "sinatra or puma is not installed for ruby";
      }
    },
    command: () => [found("ruby"), sourceOf("receiver.rb")],
  },
  {
    name: "Perl",
    // Its core modules alone.
    missing() {
      const perl = find("perl");
      if (perl === undefined) return "perl is not installed";
      try {
        execFileSync(perl, ["-MJSON::PP", "-MIO::Socket::UNIX", "-e", "1"], { stdio: "pipe" });
        return undefined;
      } catch {
        return "core modules of perl are not installed";
      }
    },
    command: () => [found("perl"), sourceOf("receiver.pl")],
  },
];

/** The folder of what a test compiles and writes, and its removal. */
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
  const [file, ...argv] = command(folder);
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
