import { parseArgs } from "node:util";
import { renderTable } from "./report/markdown.js";
import { median } from "./statistics.js";
import { underEvenLoad, type Section } from "./stores/paced-receiver.js";
import { rowsNamed } from "./stores/rows.js";

// npm run bench -- soak --only postgres --per-second 300 --minutes 10
// One receiver under the same load for minutes. What grows with time shows up in the last column.

const CONNECTIONS = 32;
const SECTION_SECONDS = 15;
/** At the start a receiver compiles its code and fills its pools. */
const WARM_UP_SECONDS = 30;

const COLUMNS = {
  p50Ms: "answer, p50 ms",
  p99Ms: "answer, p99 ms",
  delayMs: "event-loop delay, p99 ms",
  rssMb: "RSS, MB",
  descriptors: "open descriptors",
} satisfies Partial<Record<keyof Section, string>>;

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "postgres" },
    "per-second": { type: "string", default: "300" },
    minutes: { type: "string", default: "10" },
  },
});
const perSecond = Number(values["per-second"]);
const seconds = Number(values.minutes) * 60;
const [row] = rowsNamed([values.only]);
if (row === undefined) throw new Error(`no row has the name ${values.only}`);

const load = { perSecond, connections: CONNECTIONS };
const sections = await underEvenLoad(row, "ours", load, async (section) => {
  process.stderr.write(`${row}: the receiver runs; ${WARM_UP_SECONDS} s to warm up\n`);
  await section(WARM_UP_SECONDS);
  const measured: Section[] = [];
  for (let at = 0; at < seconds; at += SECTION_SECONDS) {
    measured.push(await section(SECTION_SECONDS));
  }
  return measured;
});
const third = Math.floor(sections.length / 3);
const medianIn = (part: readonly Section[], name: keyof typeof COLUMNS): number =>
  median(part.map((section) => section[name]));
process.stdout.write(
  renderTable({
    title: `${row}: ${String(perSecond)} deliveries a second for ${values.minutes} minutes, ${String(CONNECTIONS)} connections`,
    columns: ["", "first third", "last third", "last ÷ first", "largest"],
    rows: (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).map((name) => {
      const [first, last] = [sections.slice(0, third), sections.slice(-third)];
      const [before, after] = [medianIn(first, name), medianIn(last, name)];
      const largest = Math.max(...sections.map((section) => section[name]));
      const figures = [before, after, after / before, largest].map((value) => value.toFixed(2));
      return [COLUMNS[name], ...figures];
    }),
  }),
);
process.exit();
