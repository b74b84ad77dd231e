import type { Output } from "./command-io.js";
import { printableLine } from "./printable.js";

const WIDTH = 24;
/** Removes the line: carriage return, then erase line. */
const CLEAR = "\r\u001b[2K";
/** How often the time is renewed: in a terminal in place, in a pipe as one more line. */
const RENEWED_MS = { terminal: 1_000, pipe: 10_000 } as const;

/** A bar on standard error if that is a terminal, and a line every ten seconds otherwise. A short single step shows nothing. */
export function createProgressBar(output: Output, total: number) {
  const startedAt = performance.now();
  let done = 0;
  let shown = "";
  const state = (): string => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    return [`${done}/${total}`, ...(seconds < 1 ? [] : [`${seconds} s`]), shown].join(" ");
  };
  const draw = (): void => {
    const filled = Math.round((WIDTH * done) / total);
    const text = `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${state()}`;
    // CLEAR removes one line, so the text must not wrap.
    const letters = Array.from(text).slice(0, (output.columns ?? 80) - 1);
    output.write(CLEAR + letters.join(""));
  };
  const writeLine = (): void => output.write(`${state().trimEnd()}\n`);
  const renew = output.isTTY ? draw : writeLine;
  const isDrawn = output.isTTY && total > 1;
  const timer = setInterval(renew, RENEWED_MS[output.isTTY ? "terminal" : "pipe"]).unref();
  const show = (text: string): void => {
    shown = printableLine(text);
    if (isDrawn) draw();
  };
  show("");
  return {
    /** Replaces the text beside the bar. */
    show,
    /** Counts one more step as done. */
    advance(text = ""): void {
      done += 1;
      show(text);
    },
    /** Writes a line that stays, also where no bar is shown. */
    say(line: string): void {
      output.write(`${output.isTTY ? CLEAR : ""}${line}\n`);
      show(shown);
    },
    /** Removes the bar from the screen. */
    end: (): void => {
      clearInterval(timer);
      if (isDrawn) output.write(CLEAR);
    },
  };
}
