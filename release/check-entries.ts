// A part of `npm run check`: says what a row of `entries.ts` still lacks elsewhere, a line each, and which file to change.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ENTRY_TABLES } from "../docs/entry-tables.js";
import { ENGINES } from "../test/engines.js";
import { STORE_MODES } from "../test/faults/plan/modes.js";
import { PACKAGES } from "../test/platforms/install.js";
import { PEERS } from "../test/platforms/peers/project.js";
import { ENTRIES } from "./entries.js";
import type { Entry, Plug } from "./entry.js";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const isThere = (file: string): boolean => existsSync(path.join(REPOSITORY, file));
const read = (file: string): string =>
  isThere(file) ? readFileSync(path.join(REPOSITORY, file), "utf8") : "";

interface Manifest {
  readonly devDependencies?: object;
}
const manifest = JSON.parse(read("package.json")) as Manifest;
const lock = JSON.parse(read("package-lock.json")) as {
  readonly packages: {
    readonly "": { readonly peerDependencies: Readonly<Record<string, string>> };
  };
};

const GENERATE = "run npm run generate";
/** The files and what they lack. */
const problems: string[] = [];

function need(isRight: boolean, file: string, what: string): void {
  if (!isRight) problems.push(`${file}: ${what}`);
}

function checkPlug({ name, engine }: Entry, { kind, page, make = "", ...plug }: Plug): void {
  const [document = ""] = page.split("#");
  need(isThere(document), document, `write the page of /${name}`);
  const folder = kind === "inbox" ? `test/inbox/${name}-` : `test/stores/${name}/`;
  const { contract = `${folder}contract.slow.test.ts` } = plug;
  need(
    /Contract\(|testStoreInTime\(/.test(read(contract)),
    contract,
    `run the contract of /${name} on its engine`,
  );
  const [table, cell] =
    kind === "inbox" ? ["docs/inbox.md", `| ${plug.title}`] : ["docs/stores.md", `\`${make}\``];
  const [, compared = ""] = read(table).split(/^(?=\| (?:store \| remembers|engine \| take))/m);
  need(compared.includes(cell), table, `compare ${plug.title} with the others`);
  if (engine === undefined || plug.noFaults !== undefined) return;
  const setup = `test/faults/receivers/setups/${kind}-${name}.ts`;
  need(isThere(setup), setup, "open the store or the queue of a receiver under faults");
  const title = STORE_MODES.find((mode) => mode.setup === `${kind}-${name}`)?.title ?? "";
  const faults = "test/faults/results.md";
  need(read(faults).includes(`\n| ${title} |`), faults, "run npm run faults");
}

function checkEngine({ name, engine, plugs = [] }: Entry): void {
  const server = ENGINES[engine ?? ""];
  const isForFaults = plugs.some(({ noFaults }) => noFaults === undefined);
  const isRight = server !== undefined && (!isForFaults || server.startForFaults !== undefined);
  need(engine === undefined || isRight, "test/engines.ts", `say how the engine of /${name} starts`);
}

for (const entry of ENTRIES) {
  const { name, file, handler = "", mounts = [], plugs = [] } = entry;
  need(isThere(file), file, `write /${name}`);
  need(isThere(`api/${name}.api.md`), `api/${name}.api.md`, GENERATE);
  checkEngine(entry);
  for (const plug of plugs) checkPlug(entry, plug);
  for (const [on] of mounts) {
    const [, page = ""] = /\]\(([^)#]+)/.exec(on) ?? [];
    need(read(page).includes(handler), page, `say how ${handler} is mounted`);
  }
}
for (const { names, entry, receiver, oldest, engine } of PEERS) {
  const file = `test/platforms/peers/receivers/${receiver}.mjs`;
  need(isThere(file), file, `write a receiver on ${names[0]} as a partner would`);
  const cells = `| ${names.map((name) => `\`${name}\``).join(", ")} | \`/${entry}\` | ${oldest} |`;
  need(read("STABILITY.md").includes(cells), "STABILITY.md", "run npm run platforms -- peers");
  const { folder = "" } = ENGINES[engine ?? ""] ?? {};
  const known = { ...manifest.devDependencies, ...PACKAGES[folder] };
  const missing = names.filter((one) => !(one in known));
  need(missing.length === 0, "package.json", `npm install --save-dev ${missing.join(" ")}`);
  const { peerDependencies } = lock.packages[""];
  const isLocked = names.every((one) => peerDependencies[one] === `>=${oldest}`);
  need(isLocked, "package-lock.json", "run npm install");
}
for (const [file, make] of Object.entries(ENTRY_TABLES)) {
  need(make(read(file)) === read(file), file, GENERATE);
}

const lines = [...new Set(problems)].toSorted();
for (const line of lines) process.stderr.write(`${line}\n`);
process.exitCode = lines.length === 0 ? 0 : 1;
