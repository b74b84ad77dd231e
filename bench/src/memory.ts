import { runFresh } from "./fresh-process.js";
import type { Size, Speed } from "./memory/child.js";
import { memories } from "./memory/stores.js";
import { deliver } from "./report/deliver.js";
import { ratio } from "./report/markdown.js";
import type { Table } from "./report/part-result.js";
import { median, shuffled } from "./statistics.js";

const NAMES = Object.keys(memories());
const SIZED = [1e5, 1e6];
const TIMED = [1e3, 1e4, 1e5, 1e6];
/** Processes that measure the largest size, since its memory layout differs in each. One process does the rest. */
const PROCESSES_AT_LARGEST = 3;
const PEER = "lru-cache";

const sizes = new Map<string, Size>();
const speeds = new Map<string, Speed[]>();
const keyOf = (name: string, entries: number): string => `${name} ${entries}`;

function sizeOf(name: string, entries: number): Size {
  const size = sizes.get(keyOf(name, entries));
  if (size === undefined) throw new Error(`${name} was not measured at ${entries}`);
  return size;
}

function speedsOf(name: string, entries: number): Speed[] {
  const key = keyOf(name, entries);
  const measured = speeds.get(key) ?? [];
  speeds.set(key, measured);
  return measured;
}

function speedOf(name: string, entries: number, when: keyof Speed): number {
  return median(speedsOf(name, entries).map((speed) => speed[when]));
}

const script = new URL("./memory/child.js", import.meta.url);
const runs = NAMES.flatMap((name) => [
  ...SIZED.map((entries) => ({ what: "size", name, entries })),
  ...TIMED.flatMap((entries) =>
    Array.from({ length: entries === 1e6 ? PROCESSES_AT_LARGEST : 1 }, () => ({
      what: "speed",
      name,
      entries,
    })),
  ),
]);
for (const { what, name, entries } of shuffled(runs)) {
  const args = [what, name, String(entries)];
  const answer = await runFresh(script, { args, execArgv: ["--expose-gc"] });
  if (what === "size") sizes.set(keyOf(name, entries), answer as Size);
  else speedsOf(name, entries).push(answer as Speed);
}

/** One figure of each memory, and its ratio to the other memory. */
type Column = readonly [heading: string, figureOf: (name: string) => number];

function table(title: string, columns: readonly Column[]): Table {
  return {
    title,
    columns: ["remembered by", ...columns.map(([heading]) => heading)],
    rows: NAMES.map((name) => [
      name,
      ...columns.map(([, figureOf]) => {
        const figure = figureOf(name);
        const shown = figure < 10 ? figure.toFixed(1) : figure.toFixed(0);
        return `${shown} (${ratio(figure / figureOf(PEER))})`;
      }),
    ]),
  };
}

const short = (entries: number): string => `1e${Math.log10(entries)}`;

deliver({
  values: {},
  tables: [
    table(`Memory per remembered id (÷ ${PEER})`, [
      ...SIZED.map((at): Column => [
        `bytes at ${short(at)}`,
        (name) => sizeOf(name, at).bytesPerId,
      ]),
      ...SIZED.map((at): Column => [`RSS at ${short(at)}`, (name) => sizeOf(name, at).rssPerId]),
      ...SIZED.map((at): Column => [
        `full GC at ${short(at)}, ms`,
        (name) => sizeOf(name, at).fullGcMs,
      ]),
    ]),
    table(`Nanoseconds per new id (÷ ${PEER})`, [
      ...TIMED.map((at): Column => [
        `up to ${short(at)}`,
        (name) => speedOf(name, at, "fillingNs"),
      ]),
      ["full at 1e5", (name) => speedOf(name, 1e5, "fullNs")],
      ["full at 1e6", (name) => speedOf(name, 1e6, "fullNs")],
    ]),
  ],
});
