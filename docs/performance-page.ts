import { TARGETS, type Target } from "../bench/src/targets.js";
import { putBetween } from "./put-between.js";

/** What `npm run bench`, and its commands `partner`, `stores` and `queues` have written. */
export interface BenchResults {
  /** bench/results/table.md */
  readonly table: string;
  /** bench/results/partner.md */
  readonly partner: string;
  /** bench/results/stores.md */
  readonly stores: string;
  /** bench/results/queues.md */
  readonly queues: string;
}

/** docs/performance.md with its tables made anew between their marks. */
export function performancePage(
  page: string,
  { table, partner, stores, queues }: BenchResults,
): string {
  const decides = Object.values<Target>(TARGETS).filter((target) => target.decides === true);
  const isShown = (line: string): boolean =>
    decides.some(({ label }) => line.startsWith(`| ${label} |`));
  const reasons = table
    .split("\n")
    .filter((line) => decides.some(({ label }) => line.startsWith(`- MISSED, ${label}:`)));
  const rows = firstTable(table).filter((line, at) => at < 2 || isShown(line));
  const shown = [captionOf(table), rows.join("\n"), reasons.join("\n")].filter(
    (part) => part !== "",
  );
  const whole = (results: string): string =>
    [captionOf(results), firstTable(results).join("\n")].join("\n\n");
  const tables = partner.split("\n").filter((line) => !line.startsWith("### "));
  const withPartner = putBetween(page, "bench/results/partner.md", tables.join("\n").trim());
  const withRatios = putBetween(withPartner, "bench/results/table.md", shown.join("\n\n"));
  const withStores = putBetween(withRatios, "bench/results/stores.md", whole(stores));
  return putBetween(withStores, "bench/results/queues.md", whole(queues));
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
