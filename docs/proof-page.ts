import { putBetween } from "./put-between.js";

/** What `npm run faults` and `npm run platforms` have written. */
export interface ProofResults {
  /** test/faults/results.md */
  readonly faults: string;
  /** test/platforms/results.md */
  readonly platforms: string;
}

/** The modes that docs/proof.md shows: each store and queue under all faults. */
const SHOWN_MODE = /^(?:lease|transactional|inbox), [^,]+$/;
const SHOWN_COLUMNS = [
  "mode",
  "deliveries",
  "kill -9",
  "effects",
  "doubles explained",
  "unexplained",
  "violations",
  "exhausted",
];

/** docs/proof.md with its figures made anew between their marks. */
export function proofPage(page: string, { faults, platforms }: ProofResults): string {
  const withFaults = putBetween(page, "test/faults/results.md", faultFigures(faults));
  return putBetween(withFaults, "test/platforms/results.md", platformFigures(platforms));
}

function faultFigures(results: string): string {
  const [, written = ""] = /^(Written by .*? network cuts\.)/m.exec(results) ?? [];
  const [titles = [], ...modes] = tableOf(results, "mode");
  const flawed = tableOf(results, "flawed receiver").slice(1);
  const at = SHOWN_COLUMNS.map((title) => titles.indexOf(title));
  const rows = modes
    .filter(([mode = ""]) => SHOWN_MODE.test(mode))
    .map((cells) => at.map((column) => cells[column] ?? ""));
  const rule = SHOWN_COLUMNS.map((_, column) => (column === 0 ? "---" : "---:"));
  const lines = [SHOWN_COLUMNS, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${written} The checker convicted each of ${String(flawed.length)} receivers with a planted flaw. ${String(modes.length)} modes ran; these have all faults:\n\n${lines.join("\n")}`;
}

function platformFigures(results: string): string {
  const [, date = ""] = /started on ([\d-]+)/.exec(results) ?? [];
  const rows = tableOf(results, "platform").slice(1);
  const all = Math.max(...rows.map(([, , , passed]) => Number(passed)));
  const isWhole = ([, , , passed]: readonly string[]): boolean => Number(passed) === all;
  const named = rows.filter(isWhole).map(([name = ""]) => name);
  const lines = rows
    .filter((row) => !isWhole(row))
    .map(([name, , , passed, , , remark = ""]) => {
      const cases = remark.match(/`[a-z0-9_]+`(?=:)/g) ?? [];
      return `| ${[name, passed, cases.join(", ")].join(" | ")} |`;
    });
  return `On ${date} all ${String(all)} cases passed on: ${named.join("; ")}.\n\nThe others answer some requests themselves, or their queue does not take some bodies. The results below say why:\n\n| platform | passed | cases that do not reach the receiver |\n| --- | --- | --- |\n${lines.join("\n")}`;
}

/** The titles and the rows of the table whose first column has this title. */
function tableOf(text: string, title: string): readonly (readonly string[])[] {
  const lines = text.slice(text.indexOf(`\n| ${title} |`) + 1).split("\n");
  const end = lines.findIndex((line) => !line.startsWith("|"));
  const [titles = "", , ...rows] = lines.slice(0, end);
  return [titles, ...rows].map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}
