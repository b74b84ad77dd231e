import { readFileSync, readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { renderTable } from "./report/markdown.js";
import { median } from "./statistics.js";
import { readLabOptions } from "./stores/lab-options.js";
import type { RoundResult } from "./stores/load/keep-alive-client.js";
import { connect, startLoadGenerator } from "./stores/load/load-generator.js";
import { startReceiver } from "./stores/receivers/receiver.js";
import { ROWS, rowsNamed, type RowName } from "./stores/rows.js";

// npm run bench -- soak --only postgres --per-second 300 --minutes 10
// One receiver under the same load for minutes. What grows with time shows up in the last column.

const CONNECTIONS = 32;
const SECTION_SECONDS = 15;
/** At the start a receiver compiles its code and fills its pools. */
const WARM_UP_SECONDS = 30;

/** What is measured in each section of the time. */
interface Section {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly delayMs: number;
  readonly rssMb: number;
  readonly descriptors: number;
}

const COLUMNS: Readonly<Record<keyof Section, string>> = {
  p50Ms: "answer, p50 ms",
  p99Ms: "answer, p99 ms",
  delayMs: "event-loop delay, p99 ms",
  rssMb: "RSS, MB",
  descriptors: "open descriptors",
};

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

const sections = await soak(row);
const third = Math.floor(sections.length / 3);
const medianIn = (part: readonly Section[], name: keyof Section): number =>
  median(part.map((section) => section[name]));
process.stdout.write(
  renderTable({
    title: `${row}: ${String(perSecond)} deliveries a second for ${values.minutes} minutes, ${String(CONNECTIONS)} connections`,
    columns: ["", "first third", "last third", "last ÷ first", "largest"],
    rows: (Object.keys(COLUMNS) as (keyof Section)[]).map((name) => {
      const [first, last] = [sections.slice(0, third), sections.slice(-third)];
      const [before, after] = [medianIn(first, name), medianIn(last, name)];
      const largest = Math.max(...sections.map((section) => section[name]));
      const figures = [before, after, after / before, largest].map((value) => value.toFixed(2));
      return [COLUMNS[name], ...figures];
    }),
  }),
);
process.exit();

/** Loads a receiver and measures it section by section. Leaves no process behind. */
async function soak(name: RowName): Promise<Section[]> {
  const options = readLabOptions([]);
  const engine = await (await ROWS[name].start())(1);
  const load = startLoadGenerator(options);
  try {
    const receiver = await startReceiver({ row: name, name: "ours", number: 0, engine, options });
    try {
      await connect(load, receiver, CONNECTIONS);
      const pace = async (sectionSeconds: number): Promise<RoundResult> => {
        const order = {
          order: "pace",
          contender: "ours",
          perSecond,
          seconds: sectionSeconds,
        } as const;
        const sent = (await load.ask(order)) as RoundResult;
        if (sent.good < perSecond * sectionSeconds) throw new Error("not each was answered 200");
        return sent;
      };
      process.stderr.write(`${name}: the receiver runs; ${WARM_UP_SECONDS} s to warm up\n`);
      await pace(WARM_UP_SECONDS);
      const measured: Section[] = [];
      for (let at = 0; at < seconds; at += SECTION_SECONDS) {
        await receiver.begin();
        const { p50Ms, p99Ms } = await pace(SECTION_SECONDS);
        const { delayMs } = await receiver.end();
        measured.push({ p50Ms, p99Ms, delayMs, ...resourcesOf(receiver.pid) });
      }
      return measured;
    } finally {
      await receiver.stop();
    }
  } finally {
    await load.stop();
    await engine.close();
  }
}

function resourcesOf(pid: number): Pick<Section, "rssMb" | "descriptors"> {
  const status = readFileSync(`/proc/${String(pid)}/status`, "latin1");
  return {
    rssMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024,
    descriptors: readdirSync(`/proc/${String(pid)}/fd`).length,
  };
}
