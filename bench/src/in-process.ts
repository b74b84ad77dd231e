import { BODY_SIZES, type BodySize } from "./deliveries.js";
import type { Figure } from "./in-process/figures.js";
import { measureInProcess, valuesOf } from "./in-process/measure.js";
import { deliver } from "./report/deliver.js";
import { duration, ratio } from "./report/markdown.js";
import type { Bars, Table } from "./report/part-result.js";

const PROCESSES = 3;
const ROUNDS = 400;
const SIZES = Object.keys(BODY_SIZES) as BodySize[];
const FLOOR = "floor: HMAC + JSON.parse";

/** Our time divided by each contender's, by body. */
function contendersTable(figures: readonly Figure[]): Table {
  const names = new Set(figures.filter(({ of }) => of === "ours").map(({ to }) => to));
  const cell = (name: string, size: BodySize): string => {
    const found = figures.find((one) => one.of === "ours" && one.to === name && one.size === size);
    if (found === undefined) return "";
    return `${ratio(found.ratio)} (${duration(found.toNs)})`;
  };
  return {
    title: "In process: time of ours ÷ the contender's (the contender's own time)",
    columns: ["contender", ...SIZES],
    rows: [...names].map((name) => [name, ...SIZES.map((size) => cell(name, size))]),
  };
}

/** Every case other than receiving a good delivery. */
function otherTable(figures: readonly Figure[]): Table {
  return {
    title: "In process, 1 KB: the parts",
    columns: ["what", "ratio", "its time", "divided by"],
    rows: figures
      .filter(({ of }) => of !== "ours")
      .map(({ of, to, ...one }) => [
        `${of} ÷ ${to}`,
        ratio(one.ratio),
        duration(one.ofNs),
        duration(one.toNs),
      ]),
  };
}

/** The time of each contender for the 1 KB alarm, relative to the floor. */
function barsOf(figures: readonly Figure[]): Bars {
  const small = figures.filter(({ of, size }) => of === "ours" && size === "1 KB");
  const floor = small.find(({ to }) => to === FLOOR);
  if (floor === undefined) return {};
  return Object.fromEntries(small.map(({ to, ratio: oursToIt }) => [to, floor.ratio / oursToIt]));
}

const figures = await measureInProcess({ sizes: SIZES, rounds: ROUNDS }, PROCESSES);
deliver({
  values: valuesOf(figures),
  tables: [contendersTable(figures), otherTable(figures)],
  bars: barsOf(figures),
});
