import { readFileSync } from "node:fs";
import path from "node:path";
import { splitAt } from "./markdown.js";
import { REPOSITORY } from "./navigation.js";

/** A tab: its name, and where the block of code is that begins with a text. */
type Tab = readonly [name: string, file: string, section: string, start: string];

const TABS: readonly Tab[] = [
  ["Nest", "docs/nestjs.md", "First delivery", "// src/app.module.ts"],
  ["Fastify", "docs/frameworks.md", "Fastify", "import Fastify"],
  ["Hono", "docs/frameworks.md", "Hono", "import { serve }"],
  ["Next", "docs/frameworks.md", "Next", "import { fetchHandler }"],
  ["Lambda", "docs/aws-lambda.md", "The first delivery", "// index.ts"],
  ["Workers", "docs/frameworks.md", "Cloudflare Workers", "import { fetchHandler }"],
];

/** Where a tab imports the receiver of docs/frameworks.md, or a provider of docs/nestjs.md. */
const OTHER_FILES: Readonly<Record<string, string>> = {
  Nest: "// src/gateway-handlers.ts",
  Fastify: "// receiver.mjs",
  Hono: "// receiver.mjs",
  Next: "// receiver.mjs",
  Workers: "// receiver.mjs",
};

const read = (file: string): string => readFileSync(path.join(REPOSITORY, file), "utf8");

/** The first page: where `docs/index.md` has `<!-- tabs -->` and `<!-- figures -->`, they are made from other documents. */
export function firstPage(text: string): string {
  return text.replace("<!-- tabs -->", tabs).replace("<!-- figures -->", figures);
}

function tabs(): string {
  const blocks = TABS.map(([name, file, section, start]) => {
    const other = OTHER_FILES[name];
    const document = read(file);
    const own = blockOf(sectionOf(document, section), start);
    const code = other === undefined ? own : `${blockOf(document, other)}\n${named(own)}`;
    return `\`\`\`ts [${name}]\n${code}\`\`\``;
  });
  return ["::: code-group", ...blocks, ":::"].join("\n\n");
}

function named(code: string): string {
  return code.startsWith("//") ? code : `// the file of the framework\n${code}`;
}

function sectionOf(document: string, title: string): string {
  const sections = [2, 3].flatMap((level) => splitAt(document, level).sections);
  const section = sections.find((one) => one.title === title);
  if (section === undefined) throw new Error(`no document has a section ${title}`);
  return section.text;
}

/** The block of code that begins with a text. */
function blockOf(text: string, start: string): string {
  const blocks = Array.from(text.matchAll(/^```[jt]s\n(.*?)^```/gms), ([, code = ""]) => code);
  const block = blocks.find((code) => code.startsWith(start));
  if (block === undefined) throw new Error(`no code begins with ${start}`);
  return block;
}

/** Three figures, each from the page that says how it was measured. */
function figures(): string {
  const [, deliveries = "", kills = ""] = found(
    /: ([\d ]+) deliveries, (\d+) × `kill -9`/,
    "test/faults/results.md",
  );
  const [, perSecond = ""] = found(
    /^\| PostgreSQL, pg \|[^|]*\|[^|]*\| (\d+) \(/m,
    "bench/results/stores.md",
  );
  const rows = read("test/platforms/results.md").split("\n");
  const platforms = rows.filter((line) => /^\| [^-|].*\| \d+ \| \d+ \| \d+ \|/.test(line)).length;
  return [
    "| figure | what | source |",
    "| ---: | --- | --- |",
    `| ${deliveries} | deliveries under injected faults, with ${kills} \`kill -9\` | [Proof](proof.md#faults) |`,
    `| ${String(platforms)} | platforms and versions on which the conformance suite ran | [Proof](proof.md#platforms) |`,
    `| ${perSecond} | deliveries a second with PostgreSQL, over 32 connections to one process | [Performance](performance.md) |`,
  ].join("\n");
}

function found(pattern: RegExp, file: string): RegExpExecArray {
  const match = pattern.exec(read(file));
  if (match === null) throw new Error(`${file} does not have ${String(pattern)}`);
  return match;
}
