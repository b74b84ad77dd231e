import type { Table } from "../report/part-result.js";
import { ratio } from "../report/markdown.js";
import { median } from "../statistics.js";
import type { Counted } from "./counted/count-per-delivery.js";
import type { LevelResult, RoundSample } from "./measure-row.js";
import type { ContenderName } from "./receivers/receiver.js";
import { ROWS } from "./rows.js";

type Figure = (sample: RoundSample) => number | undefined;

/** The median of one contender. Undefined if the figure was not measured. */
function medianOf({ samples }: LevelResult, name: ContenderName, of: Figure): number | undefined {
  const values = samples.get(name)?.map(of) ?? [];
  const measured = values.filter((value) => value !== undefined);
  return measured.length === 0 ? undefined : median(measured);
}

/** Ours ÷ the other's, each within one round. */
function ratiosTo({ samples }: LevelResult, other: ContenderName, of: Figure): number[] {
  const below = samples.get(other);
  return (samples.get("ours") ?? [])
    .map((sample, round) => {
      const base = below?.[round];
      return base === undefined ? Number.NaN : (of(sample) ?? NaN) / (of(base) ?? NaN);
    })
    .filter((value) => !Number.isNaN(value));
}

/** The median of the ratios, and from the least to the largest. */
function ratioTo(level: LevelResult, other: ContenderName, of: Figure): string {
  const ratios = ratiosTo(level, other, of);
  if (ratios.length === 0) return "–";
  return `${ratio(median(ratios))} (${ratio(Math.min(...ratios))}–${ratio(Math.max(...ratios))})`;
}

const shown = (value: number | undefined, digits: number): string =>
  value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits);

/** One row a store: deliveries per second at each number of connections, and the ratio to the hand-written. */
export function shortTable(
  levels: readonly LevelResult[],
  what = "Durable stores over HTTP",
  column = "store",
): Table {
  const speed: Figure = ({ perSecond }) => perSecond;
  const connections = [...new Set(levels.map((level) => level.connections))];
  const stores = [...new Set(levels.map(({ row }) => row))];
  const cell = (store: string, count: number): string => {
    const level = levels.find((one) => one.row === store && one.connections === count);
    if (level === undefined) return "";
    const times = ratio(median(ratiosTo(level, "by hand", speed)));
    return `${shown(medianOf(level, "ours", speed), 0)} (${times})`;
  };
  return {
    title: `${what}: deliveries per second (÷ a hand-written receiver's)`,
    columns: [
      column,
      "by hand",
      ...connections.map((count) => (count === 1 ? "1 connection" : `${count} connections`)),
    ],
    rows: stores.map((store) => [
      store,
      ROWS[store].byHand,
      ...connections.map((count) => cell(store, count)),
    ]),
  };
}

/** Deliveries per second, and the time of an answer. */
export function speedTable(levels: readonly LevelResult[]): Table {
  const others = [...(levels[0]?.samples.keys() ?? [])].filter((name) => name !== "ours");
  const figures: readonly (readonly [string, Figure, number])[] = [
    ["deliveries/s", ({ perSecond }) => perSecond, 0],
    ["p50 ms", ({ p50Ms }) => p50Ms, 2],
    ["p99 ms", ({ p99Ms }) => p99Ms, 1],
  ];
  return {
    title: "Durable stores over HTTP: ours, and ours ÷ the other (least to largest of the rounds)",
    columns: [
      "store",
      "connections",
      ...figures.flatMap(([name]) => [name, ...others.map((other) => `÷ ${other}`)]),
    ],
    rows: levels.map((level) => [
      level.row,
      String(level.connections),
      ...figures.flatMap(([, of, digits]) => [
        shown(medianOf(level, "ours", of), digits),
        ...others.map((other) => ratioTo(level, other, of)),
      ]),
    ]),
  };
}

/** What one delivery costs: ours / by hand, and the version before if it was measured. */
export function costTable(levels: readonly LevelResult[]): Table {
  const names = [...(levels[0]?.samples.keys() ?? [])];
  const others = names.filter((name) => name !== "ours");
  const each = (level: LevelResult, of: (name: ContenderName) => string): string =>
    names.map(of).join(" / ");
  const rows = levels.map((level) => {
    const timed = (of: Figure, digits: number): string =>
      each(level, (name) => shown(medianOf(level, name, of), digits));
    const counted = (of: (counted: Counted) => number | undefined): string =>
      each(level, (name) => {
        const found = level.counted.get(name);
        return shown(found === undefined ? undefined : of(found), 2);
      });
    return [
      level.row,
      String(level.connections),
      timed(({ receiverUs }) => receiverUs, 0),
      ...others.map((other) => ratioTo(level, other, ({ receiverUs }) => receiverUs)),
      timed(({ engineUs }) => engineUs, 0),
      timed(({ delayMs }) => delayMs, 1),
      counted(({ roundTrips }) => roundTrips),
      counted(({ syncs }) => syncs),
    ];
  });
  return {
    title: `Durable stores over HTTP: the cost of a delivery, ${names.join(" / ")}`,
    columns: [
      "store",
      "connections",
      "receiver CPU µs",
      ...others.map((other) => `÷ ${other}`),
      "engine CPU µs",
      "event-loop delay p99 ms",
      "round trips",
      "fsyncs",
    ],
    rows,
  };
}
