import { reply } from "../fresh-process.js";
import { median } from "../statistics.js";
import { fill } from "./ids.js";
import { memories, type Remember } from "./stores.js";

/** The memory use of one store, by the number of ids that it remembers. */
export interface Size {
  /** Bytes in the heap and in arrays outside of it, after a full garbage collection. */
  readonly bytesPerId: number;
  readonly rssPerId: number;
  /** How much longer a full garbage collection takes than without it, in milliseconds. */
  readonly fullGcMs: number;
}

/** The speed of one store. */
export interface Speed {
  /** Nanoseconds per new id while it fills up. */
  readonly fillingNs: number;
  /** The same when it is full and each new id replaces an old one. */
  readonly fullNs: number;
}

/** How many ids make the speed steady. */
const ENOUGH_IDS = 300_000;

/** Keeps the store alive during the measurement. */
const held: Remember[] = [];

function collect(): number {
  if (globalThis.gc === undefined) throw new Error("run by node --expose-gc");
  const start = performance.now();
  globalThis.gc();
  return performance.now() - start;
}

function settled(): { bytes: number; rss: number; gcMs: number } {
  const times = Array.from({ length: 7 }, collect);
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { bytes: heapUsed + arrayBuffers, rss, gcMs: median(times.slice(2)) };
}

function sizeOf(name: string, make: (maxEntries: number) => Remember, entries: number): Size {
  // Compile and create everything before the first measurement.
  fill(name, make(1_000), 20_000);
  const before = settled();
  const remember = make(entries);
  held.push(remember);
  fill(name, remember, entries);
  const after = settled();
  return {
    bytesPerId: (after.bytes - before.bytes) / entries,
    rssPerId: (after.rss - before.rss) / entries,
    // With nothing to collect, the difference is noise around zero.
    fullGcMs: Math.max(0, after.gcMs - before.gcMs),
  };
}

function speedOf(name: string, make: (maxEntries: number) => Remember, entries: number): Speed {
  fill(name, make(1_000), 20_000);
  const times = Math.max(1, Math.round(ENOUGH_IDS / entries));
  const filling: number[] = [];
  const full: number[] = [];
  for (let time = 0; time < times; time++) {
    const remember = make(entries);
    filling.push(fill(name, remember, entries) / entries);
    const further = Math.min(entries, ENOUGH_IDS);
    full.push(fill(name, remember, further) / further);
  }
  return { fillingNs: median(filling), fullNs: median(full) };
}

const [what, name = "", entries] = process.argv.slice(2);
const make = memories()[name];
if (make === undefined) throw new Error(`no memory is named ${name}`);
reply((what === "size" ? sizeOf : speedOf)(name, make, Number(entries)));
