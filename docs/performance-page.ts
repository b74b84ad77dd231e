import { TARGETS, type Target } from "../bench/src/targets.js";

/** What `npm run bench`, `npm run bench -- stores` and `npm run bench -- queues` have written. */
export interface BenchResults {
  /** bench/results/table.md */
  readonly table: string;
  /** bench/results/stores.md */
  readonly stores: string;
  /** bench/results/queues.md */
  readonly queues: string;
}

/** The stores that the README shows. */
const README_STORES = ["PostgreSQL, pg", "SQLite, better-sqlite3", "Redis, ioredis"];

/** docs/performance.md with its tables made anew between their marks. */
export function performancePage(page: string, { table, stores, queues }: BenchResults): string {
  const decides = Object.values<Target>(TARGETS).filter((target) => target.decides === true);
  const isShown = (line: string): boolean =>
    decides.some(({ label }) => line.startsWith(`| ${label} |`));
  const reasons = table
    .split("\n")
    .filter((line) => decides.some(({ label }) => line.startsWith(`- MISSED, ${label}:`)));
  const rows = [...firstTable(table).filter((line, at) => at < 2 || isShown(line)), ""];
  const shown = [captionOf(table), "", ...rows, ...(reasons.length === 0 ? [] : [...reasons, ""])];
  const withRatios = putBetween(page, "bench/results/table.md", shown);
  const withStores = putBetween(withRatios, "bench/results/stores.md", [
    ...[captionOf(stores), "", ...firstTable(stores), ""],
  ]);
  return putBetween(withStores, "bench/results/queues.md", [
    ...[captionOf(queues), "", ...firstTable(queues), ""],
  ]);
}

/** The README with its three rows made anew between their marks. */
export function readmeWithPerformance(readme: string, { stores }: BenchResults): string {
  const rows = firstTable(stores).filter(
    (line, at) => at < 2 || README_STORES.some((store) => line.startsWith(`| ${store} |`)),
  );
  return putBetween(readme, "bench/results/stores.md", [...rows, ""]);
}

/** The first line: which Node, which machine, when. */
function captionOf(results: string): string {
  return results.split("\n")[0] ?? "";
}

function firstTable(results: string): readonly string[] {
  const lines = results.split("\n");
  const start = lines.findIndex((line) => line.startsWith("|"));
  const length = lines.slice(start).findIndex((line) => !line.startsWith("|"));
  return lines.slice(start, length === -1 ? undefined : start + length);
}

/** Replaces what stands between `<!-- name -->` and `<!-- /name -->`. */
function putBetween(document: string, name: string, lines: readonly string[]): string {
  const [start, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
  const from = document.indexOf(start);
  const to = document.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the document lacks ${start.trim()}`);
  const before = document.slice(0, from + start.length);
  return `${before}\n${lines.join("\n")}\n${document.slice(to)}`;
}
