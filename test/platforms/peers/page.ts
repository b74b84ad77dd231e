import { putBetween } from "../../../docs/put-between.js";
import { markdownTable } from "../page.js";
import type { Installer, Peer, Proof } from "./project.js";

/** What one version of a peer did. */
export interface VersionResult {
  readonly version: string;
  /** The oldest major of Node that it is made for. */
  readonly minNode: number;
  readonly proofs: readonly {
    readonly node: number;
    readonly installer: Installer;
    readonly proof: Proof;
  }[];
}

/** What a peer did in each of its versions, oldest first. */
export interface PeerResult {
  readonly peer: Peer;
  readonly versions: readonly VersionResult[];
}

const MARK = "test/platforms/peers";

/** The table of the peers, and what is not as it must be. */
export function peersTable(results: readonly PeerResult[]): {
  readonly text: string;
  readonly complaints: readonly string[];
} {
  const nodes = [...new Set(results.flatMap((result) => result.versions.flatMap(nodesOf)))];
  const titles = [
    "peer",
    "entry",
    "oldest tested",
    "newest tested",
    ...nodes.map((node) => `Node ${String(node)}`),
    "remark",
  ];
  const rows = results.map(({ peer, versions }) => {
    const refused = versions.filter(isRefused).map(({ version }) => version);
    const working = versions.filter((version) => nodes.some((node) => works(version, node)));
    return [
      peer.names.map((name) => `\`${name}\``).join(", "),
      `\`/${peer.entry}\``,
      working[0]?.version ?? "none",
      working.at(-1)?.version ?? "none",
      ...nodes.map((node) => cellOf(working, node)),
      refused.length === 0 ? "" : `refused with \`unsupported_version\`: ${refused.join(", ")}`,
    ];
  });
  return { text: markdownTable(titles, rows), complaints: results.flatMap(complaintsOf) };
}

/** STABILITY.md with the table made anew. */
export function putPeersTable(
  page: string,
  table: string,
  date: string,
  installers: string,
): string {
  const caption = `Tested on ${date}. The newest version was installed beside the packed tarball by ${installers}, the oldest by npm, and each took one delivery on Node 20 and on the newest Node. \`yes\`: every tested version works there.`;
  return putBetween(page, MARK, `${caption}\n\n${table}`);
}

const nodesOf = ({ proofs }: VersionResult): readonly number[] => proofs.map(({ node }) => node);

const isRefused = ({ proofs }: VersionResult): boolean =>
  proofs.every(({ proof }) => proof.result === "refused");

function works({ proofs }: VersionResult, node: number): boolean {
  const here = proofs.filter((proof) => proof.node === node);
  return here.length > 0 && here.every(({ proof }) => proof.result === "handled");
}

/** `yes`, or which versions work. */
function cellOf(working: readonly VersionResult[], node: number): string {
  const here = working.filter((version) => works(version, node));
  const late = working.filter(({ minNode }) => minNode > node);
  if (here.length === working.length && here.length > 0) return "yes";
  const versions = here.map(({ version }) => version).join(", ") || "no";
  const needs = late.map(({ version, minNode }) => `${version} needs Node ${String(minNode)}`);
  return [versions, ...needs].join("; ");
}

/**
 * Every version must work on the oldest Node, unless it is made for later ones, and the newest on the newest Node. A
 * major that does not work must be refused.
 */
function complaintsOf({ peer, versions }: PeerResult): readonly string[] {
  const [oldestNode = 0, newestNode = 0] = [...new Set(versions.flatMap(nodesOf))].sort();
  const isSupported = ({ version }: VersionResult) =>
    Number.parseInt(version, 10) >= Number.parseInt(peer.oldest, 10);
  const supported = versions.filter(isSupported);
  const mustWork = [
    ...supported.map((version) => ({ version, node: oldestNode })),
    ...supported.slice(-1).map((version) => ({ version, node: newestNode })),
  ].filter(({ version, node }) => version.minNode <= node);
  const name = peer.names.join(", ");
  return [
    ...(supported.length === 0 ? [`${name}: no supported version was tried`] : []),
    ...mustWork
      .filter(({ version, node }) => !works(version, node))
      .map(
        ({ version, node }) => `${name} ${version.version} does not work on Node ${String(node)}`,
      ),
    ...versions
      .filter((version) => !isSupported(version) && !isRefused(version))
      .map(({ version }) => `${name} ${version} is not refused`),
  ];
}
