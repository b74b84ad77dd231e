import { ansiRuns, type Run } from "./ansi-runs.js";

/** What a picture shows, and says to who cannot see it. */
export interface TerminalPicture {
  readonly title: string;
  readonly description: string;
  /** Lines as a terminal gets them, escape codes of colour and weight included. */
  readonly lines: readonly string[];
}

const FONT_SIZE = 13;
/** Of a character. A font that is wider or narrower is stretched to it by `textLength`. */
const ADVANCE = 7.8;
const LINE_HEIGHT = 18;
const PADDING = 16;

const STYLE = `rect { fill: #f6f8fa; stroke: #d1d9e0 }
text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: ${String(FONT_SIZE)}px; fill: #1f2328 }
.bold { font-weight: 600 }
.dim { fill: #59636e }
.green { fill: #1a7f37 }
.red { fill: #cf222e }
.yellow { fill: #9a6700 }
.cyan { fill: #0969da }
@media (prefers-color-scheme: dark) {
rect { fill: #0d1117; stroke: #3d444d }
text { fill: #e6edf3 }
.dim { fill: #9198a1 }
.green { fill: #3fb950 }
.red { fill: #ff7b72 }
.yellow { fill: #d29922 }
.cyan { fill: #58a6ff }
}`;

/** Draws lines of terminal output, as wide as the longest. */
export function terminalSvg({ title, description, lines }: TerminalPicture): string {
  const drawn = lines.map(ansiRuns);
  const columns = Math.max(...drawn.flat().map(({ column, text }) => column + lengthOf(text)));
  const width = Math.ceil(2 * PADDING + columns * ADVANCE);
  const height = 2 * PADDING + lines.length * LINE_HEIGHT;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(width)} ${String(height)}" width="${String(width)}" height="${String(height)}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="desc">${escapeXml(description)}</desc>`,
    `<style>\n${STYLE}\n</style>`,
    `<rect x="0.5" y="0.5" width="${String(width - 1)}" height="${String(height - 1)}" rx="6"/>`,
    ...drawn.flatMap((runs, at) => runs.map((run) => textOf(run, at))),
    "</svg>\n",
  ].join("\n");
}

function textOf({ text, column, classes }: Run, line: number): string {
  const x = (PADDING + column * ADVANCE).toFixed(1);
  const y = String(PADDING + line * LINE_HEIGHT + FONT_SIZE);
  const length = (lengthOf(text) * ADVANCE).toFixed(1);
  const style = classes.length === 0 ? "" : ` class="${classes.join(" ")}"`;
  return `<text${style} x="${x}" y="${y}" textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escapeXml(text)}</text>`;
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
