import { ENTRIES } from "../release/entries.js";
import type { Plug } from "../release/entry.js";
import { putBetween } from "./put-between.js";

const CONDITIONS = ["module-sync", "bun", "module", "import"];

/** What makes the parts of files that are made of the table of entries, from what stands there now. */
export const ENTRY_TABLES: Readonly<Record<string, (now: string) => string>> = {
  "package.json": manifest,
  "README.md": readmeWithEntries,
  "docs/stores.md": (now) => putBetween(now, "release/entries.ts: stores", stores("docs/")),
};

/** The README with its tables of frameworks and stores made anew between their marks. */
export function readmeWithEntries(now: string): string {
  const withFrameworks = putBetween(now, "release/entries.ts: frameworks", frameworks());
  return putBetween(withFrameworks, "release/entries.ts: stores", stores(""));
}

function manifest(now: string): string {
  const targets = ENTRIES.map(({ name }) => {
    const file = (type: string, code: string) => ({
      types: `./dist/${name}.d.${type}`,
      default: `./dist/${name}.${code}`,
    });
    const esm = CONDITIONS.map((condition) => [condition, file("ts", "js")] as const);
    const all = Object.fromEntries([...esm, ["require", file("cts", "cjs")]]);
    return [name === "index" ? "." : `./${name}`, all] as const;
  });
  const types = ENTRIES.slice(1).map(({ name }) => [name, [`./dist/${name}.d.cts`]] as const);
  const peers = ENTRIES.flatMap(({ peers = [] }) => peers)
    .flatMap(({ names, oldest }) => names.map((name) => [name, `>=${oldest}`] as const))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const made = {
    typesVersions: { "*": Object.fromEntries(types) },
    exports: {
      ...Object.fromEntries(targets),
      "./fixtures/*.json": "./fixtures/*.json",
      "./package.json": "./package.json",
    },
    peerDependencies: Object.fromEntries(peers),
    peerDependenciesMeta: Object.fromEntries(peers.map(([name]) => [name, { optional: true }])),
  };
  return `${JSON.stringify({ ...(JSON.parse(now) as object), ...made }, null, 2)}\n`;
}

function frameworks(): string {
  const rows = ENTRIES.flatMap(({ name, handler = "", mounts = [] }) =>
    mounts.map(([on, code]) => [on, `\`${handler}\` from \`…/${name}\``, `\`${code}\``]),
  );
  return table(["framework", "import", "mount"], rows);
}

/** The table of stores of the README, or of a document of `folder`, which has a line for each. */
function stores(folder: "" | "docs/"): string {
  const all = ENTRIES.flatMap(({ name, plugs = [] }) => plugs.map((plug) => ({ name, ...plug })));
  const of = (kind: Plug["kind"]) => all.filter((plug) => plug.kind === kind);
  const link = ({ make = "", page }: Plug): string => `[\`${make}\`](${page.slice(folder.length)})`;
  const leases = of("lease").map(({ name, have = "", exactlyOnceIf, ...plug }) => [
    ...[have, `${link(plug)} from \`…/${name}\``],
    ["unless a handler is cut off", exactlyOnceIf ?? []].flat().join(", and "),
  ]);
  const onOneHost = leases.filter(([have]) => have === "one host");
  const others = leases.filter((row) => !onOneHost.includes(row)).map(([, store]) => store);
  const transactional = either(of("transactions").map(({ title }) => title));
  const inbox = `an [inbox](${"docs/inbox.md".slice(folder.length)}) on ${either(of("inbox").map(({ title }) => title))}`;
  const rows = [
    ["one process, idempotent handlers", "`memoryStore()`, the default", "while the process lives"],
    ...(folder === "" ? [...onOneHost, ["several hosts", others.join(", ")]] : leases),
    [
      `handlers that write to ${transactional}, **exactly once**`,
      of("transactions").map(link).join(", "),
      "always",
    ],
    [
      "slow handlers",
      `${inbox}: answered 200 as soon as the delivery is in a queue`,
      "as the store of its worker",
    ],
  ];
  return folder === ""
    ? table(
        ["you have", "store"],
        rows.map((cells) => cells.slice(0, 2)),
      )
    : table(["you have", "store", "exactly once"], rows);
}

function either(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, header.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
