import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../support/free-port.js";
import { pathIn } from "../install.js";
import { ENTRIES } from "../../../release/entries.js";
import type { Peer as OptionalPeer } from "../../../release/entry.js";

const run = promisify(execFile);

/** One optional peer, or several of one version, with the entry of this package that uses it. */
export type Peer = OptionalPeer & { readonly entry: string; readonly receiver: string };

/** All optional peers, in the order of the table. */
export const PEERS: readonly Peer[] = ENTRIES.flatMap(({ name, engine, peers = [] }) =>
  peers.map((peer) => ({
    entry: name,
    receiver: name,
    ...(engine === undefined ? {} : { engine }),
    ...peer,
  })),
);

/** What installs a project. */
export type Installer = "npm" | "pnpm";

/** What came of one delivery, sent twice. */
export type Proof =
  | { readonly result: "handled" }
  | { readonly result: "refused"; readonly message: string }
  | { readonly result: "failed"; readonly message: string };

/** Installs `tag`, a version or the name of one, of a peer beside the tarball. Rejects with what the installer says. */
export async function installPeer(peer: Peer, tag: string, installer: Installer, tarball: string) {
  const folder = mkdtempSync(path.join(tmpdir(), "igw-peer-"));
  const isNewest = tag === "latest";
  const dependencies: Record<string, string> = {
    "identity-gateway-webhooks": `file:${tarball}`,
  };
  for (const name of peer.names) dependencies[name] = tag;
  for (const [name, [old, newest]] of Object.entries(peer.beside ?? {})) {
    dependencies[name] = isNewest ? newest : old;
  }
  const manifest = { name: "partner", private: true, type: "module", dependencies };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  cpSync(pathIn("peers", "prove.mjs"), path.join(folder, "prove.mjs"));
  cpSync(pathIn("peers", `receivers/${peer.receiver}.mjs`), path.join(folder, "receiver.mjs"));
  const command =
    installer === "npm"
      ? ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
      : [
          process.execPath,
          pathIn("peers", "node_modules/pnpm/bin/pnpm.mjs"),
          "install",
          "--ignore-scripts",
        ];
  await inFolder(folder, command);
  const [name] = peer.names;
  const installed = manifestOf(folder, name);

  return {
    /** The version that is installed. */
    version: installed.version.replace(/^v/, ""),
    /** The oldest major of Node that it is made for. 0 if it does not say. */
    minNode: Number(/\d+/.exec(installed.engines?.node ?? "")?.[0] ?? 0),
    /** Takes a delivery on this Node. `engine`: the address of the peer's server. */
    async prove(node: string, engine: object) {
      const proof = await prove(folder, node, engine);
      if (peer.isCompiled !== true || proof.result !== "failed") return proof;
      // What cannot be built fails again, with the reason.
      await compile(folder, name, node).catch(() => undefined);
      return prove(folder, node, engine);
    },
    remove() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function prove(folder: string, node: string, engine: object): Promise<Proof> {
  const environment = {
    ...process.env,
    PORT: String(await freePort()),
    ENGINE: JSON.stringify(engine),
    RUN: `run_${String(Math.floor(Math.random() * 1e9))}`,
  };
  const args = ["--no-warnings", "prove.mjs"];
  let output: string;
  try {
    const options = { cwd: folder, env: environment, timeout: 120_000 };
    ({ stdout: output } = await run(node, args, options));
  } catch (error) {
    return { result: "failed", message: lastLines(error) };
  }
  const {
    outcomes,
    runs,
    refused,
    message = "",
  } = JSON.parse(output.trim().split("\n").at(-1) ?? "{}") as {
    outcomes?: string[];
    runs?: number;
    refused?: string;
    message?: string;
  };
  if (refused === "unsupported_version") return { result: "refused", message };
  if (outcomes?.join() === "handled,duplicate" && runs === 1) return { result: "handled" };
  return { result: "failed", message: message || output };
}

/** Compiles a native addon, by the npm of this process, for another Node and with its headers. */
async function compile(folder: string, name: string, node: string): Promise<void> {
  const headers = path.join(path.dirname(node), "..");
  const rebuild = ["rebuild", name, "--ignore-scripts=false", "--build-from-source"];
  const npm = (await run("sh", ["-c", "readlink -f $(command -v npm)"])).stdout.trim();
  const ofOwn = node === process.execPath ? {} : { npm_config_nodedir: headers };
  // node-gyp compiles for the Node that runs it.
  const PATH = `${path.dirname(node)}:${process.env["PATH"] ?? ""}`;
  await run(node, [npm, ...rebuild], { cwd: folder, env: { ...process.env, ...ofOwn, PATH } });
}

async function inFolder(folder: string, [program = "", ...args]: readonly string[]): Promise<void> {
  try {
    await run(program, args, { cwd: folder, timeout: 300_000 });
  } catch (error) {
    throw new Error(lastLines(error), { cause: error });
  }
}

interface Manifest {
  readonly version: string;
  readonly engines?: { readonly node?: string };
}

function manifestOf(folder: string, name: string): Manifest {
  const file = path.join(folder, "node_modules", name, "package.json");
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}

function lastLines(error: unknown): string {
  const { stdout = "", stderr = "", signal, message } = error as Record<string, string | undefined>;
  const said = `${stdout}${stderr}`.trim().split("\n").slice(-8).join("\n");
  return said || (signal ? `it ended by ${signal}` : (message ?? ""));
}
