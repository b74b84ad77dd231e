// npm run platforms -- peers [express,pg-boss] [--date 2026-11-24]
// Each optional peer at its oldest and its newest version beside the packed tarball, installed by npm and by pnpm, and
// one delivery through the entry that uses it, on Node 20 and on the newest Node. A whole run writes STABILITY.md.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { pack } from "../../support/package/installed-package.js";
import { ENGINES } from "../../engines.js";
import { installedVersion, installPackages, nodeProgram } from "../install.js";
import { peersTable, putPeersTable, type PeerResult, type VersionResult } from "./page.js";
import { installPeer, PEERS, type Installer, type Peer, type Proof } from "./project.js";

/** The oldest Node of the package, and the newest. */
const NODES = [20, 26] as const;

/** The tags of a peer that are tried, oldest first. All but the newest with npm on every Node, too. */
function tagsOf({ oldest, majors = [] }: Peer): readonly string[] {
  return [...new Set([oldest, ...majors.map((major) => `^${String(major)}.0.0`), "latest"])];
}

const nodeOf = (major: number): string =>
  process.version.startsWith(`v${String(major)}.`) ? process.execPath : nodeProgram(major);

/** What a peer of this tag does, with both installers. The newest versions are installed by both. */
async function tryVersion(
  peer: Peer,
  tag: string,
  tarball: string,
  engine: object,
): Promise<VersionResult> {
  const installers: readonly Installer[] = tag === "latest" ? ["npm", "pnpm"] : ["npm"];
  const proofs: { node: number; installer: Installer; proof: Proof }[] = [];
  let [version, minNode] = [tag, 0];
  for (const installer of installers) {
    let project;
    try {
      project = await installPeer(peer, tag, installer, tarball);
    } catch (error) {
      const proof = { result: "failed", message: String(error) } as const;
      proofs.push(...NODES.map((node) => ({ node, installer, proof })));
      continue;
    }
    ({ version, minNode } = project);
    for (const node of NODES) {
      proofs.push({ node, installer, proof: await project.prove(nodeOf(node), engine) });
    }
    project.remove();
  }
  for (const { node, installer, proof } of proofs) {
    const why = "message" in proof ? `: ${proof.message}` : "";
    say(
      `${peer.names[0]} ${version}, ${installer}, Node ${String(node)}: ${proof.result}${why.slice(0, 600)}`,
    );
  }
  return { version, minNode, proofs };
}

async function tryVersions(peer: Peer, tarball: string): Promise<readonly VersionResult[]> {
  const engine = await ENGINES[peer.engine ?? ""]?.start?.();
  try {
    const versions: VersionResult[] = [];
    for (const tag of tagsOf(peer)) {
      versions.push(await tryVersion(peer, tag, tarball, engine?.address ?? {}));
    }
    return versions;
  } finally {
    await engine?.close();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs it, and exits 1 where a peer does not do what the table says. */
export async function runPeers(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { date: { type: "string", default: new Date().toISOString().slice(0, 10) } },
    allowPositionals: true,
  });
  const [only = ""] = positionals;
  const chosen =
    only === "" ? PEERS : PEERS.filter(({ receiver }) => only.split(",").includes(receiver));
  if (chosen.length === 0) {
    throw new Error(`no peer is ${only}; there are: ${PEERS.map((p) => p.receiver).join(", ")}`);
  }
  await Promise.all(["peers", "node"].map((folder) => installPackages(folder)));
  const tarball = pack();
  const results: PeerResult[] = [];
  try {
    for (const peer of chosen) results.push({ peer, versions: await tryVersions(peer, tarball) });
  } finally {
    rmSync(path.dirname(tarball), { recursive: true, force: true });
  }
  const table = peersTable(results);
  say(`\n${table.text}`);
  if (only === "") {
    const page = new URL("../../../STABILITY.md", import.meta.url);
    const installers = `npm ${npmVersion()} and pnpm ${installedVersion("peers", "pnpm")}`;
    writeFileSync(
      page,
      putPeersTable(readFileSync(page, "utf8"), table.text, values.date, installers),
    );
  }
  if (table.complaints.length > 0) say(`\n${table.complaints.join("\n")}`);
  process.exitCode = table.complaints.length === 0 ? 0 : 1;
}

function npmVersion(): string {
  return /npm\/(\S+)/.exec(process.env["npm_config_user_agent"] ?? "")?.[1] ?? "";
}
