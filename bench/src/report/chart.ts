import type { Bars } from "./part-result.js";

const WIDTH = 720;
const LABEL_WIDTH = 250;
const VALUE_WIDTH = 90;
const BAR = 14;
const GAP = 12;
const TOP = 76;

/**
 * Horizontal bars: the time of each contender relative to the floor, with a bar per Node. The colours follow
 * the reader's light or dark mode.
 */
export function drawChart(barsByRuntime: ReadonlyMap<string, Bars>, caption: string): string {
  const runtimes = [...barsByRuntime.keys()];
  const names = Object.keys(barsByRuntime.get(runtimes[0] ?? "") ?? {});
  const largest = Math.max(...[...barsByRuntime.values()].flatMap((bars) => Object.values(bars)));
  const scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / largest;
  const groupHeight = runtimes.length * BAR + GAP;
  const height = TOP + names.length * groupHeight + 30;

  const sorted = names.toSorted((a, b) => meanOf(barsByRuntime, a) - meanOf(barsByRuntime, b));
  const groups = sorted.map((name, row) => {
    const y = TOP + row * groupHeight;
    const isOurs = name === "ours";
    const bars = runtimes.map((runtime, at) => {
      const value = barsByRuntime.get(runtime)?.[name] ?? 0;
      const barY = y + at * BAR;
      const width = (value * scale).toFixed(1);
      return [
        `<rect class="${isOurs ? "ours" : "other"} r${at}" x="${LABEL_WIDTH}" y="${barY}" width="${width}" height="${BAR - 2}" rx="2"/>`,
        `<text class="value" x="${(LABEL_WIDTH + value * scale + 6).toFixed(1)}" y="${barY + 10}">${value.toFixed(2)}</text>`,
      ].join("");
    });
    const middle = y + (runtimes.length * BAR) / 2 + 4;
    const label = `<text class="${isOurs ? "name strong" : "name"}" x="${LABEL_WIDTH - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>`;
    return `<g>${label}${bars.join("")}</g>`;
  });

  const spoken = sorted.map((name) => `${name} ${meanOf(barsByRuntime, name).toFixed(2)}`);
  const legend = runtimes.length > 1 ? `upper bar ${runtimes.join(", lower bar ")}` : runtimes[0];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
<title id="title">Time to receive one 1 KB alarm, relative to HMAC and JSON.parse alone</title>
<desc id="desc">Shorter is better. ${escaped(spoken.join("; "))}.</desc>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.note, .value { font-size: 11px; fill: #59636e }
.strong { font-weight: 700 }
.ours { fill: #1a7f37 }
.other { fill: #8c959f }
.r1 { fill-opacity: 0.7 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.note, .value { fill: #9198a1 }
.ours { fill: #3fb950 }
.other { fill: #6e7681 }
}
</style>
<text class="title" x="8" y="20">Time to receive one 1 KB alarm; HMAC + JSON.parse alone is 1</text>
<text class="note" x="8" y="38">Shorter is better; ${escaped(legend ?? "")}.</text>
<text class="note" x="8" y="54">Only ours and the hand-written one with lru-cache and zod validate the alarm and handle each id once.</text>
${groups.join("\n")}
<text class="note" x="8" y="${height - 8}">${escaped(caption)}</text>
</svg>
`;
}

function meanOf(barsByRuntime: ReadonlyMap<string, Bars>, name: string): number {
  const values = [...barsByRuntime.values()].map((bars) => bars[name] ?? 0);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
