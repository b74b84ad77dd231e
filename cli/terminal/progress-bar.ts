import type { Output } from "./command-io.js";
import { printableLine } from "./printable.js";

/** The progress of a long run. */
export interface ProgressBar {
  /** Counts one more step as done. `name` says which one. */
  readonly advance: (name?: string) => void;
  /** Writes a line that stays, also where no bar is shown. */
  readonly say: (line: string) => void;
  /** Removes the bar from the screen. */
  readonly end: () => void;
}

const WIDTH = 24;
/** Removes the line: carriage return, then erase line. */
const CLEAR = "\r\u001b[2K";

/** A bar on standard error if that is a terminal. Shows nothing in a pipe and for a single step. */
export function createProgressBar(output: Output, total: number): ProgressBar {
  if (!output.isTTY || total < 2) {
    const say = (line: string): void => {
      output.write(`${line}\n`);
    };
    return { advance: () => undefined, say, end: () => undefined };
  }
  let done = 0;
  let last = "";
  const draw = (name: string): void => {
    last = name;
    const filled = Math.round((WIDTH * done) / total);
    const bar = `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)}`;
    const text = `${bar} ${done}/${total} ${printableLine(name)}`;
    // CLEAR removes one line, so the text must not wrap.
    output.write(
      CLEAR +
        Array.from(text)
          .slice(0, (output.columns ?? 80) - 1)
          .join(""),
    );
  };
  draw("");
  return {
    advance(name = "") {
      done += 1;
      draw(name);
    },
    say(line) {
      output.write(`${CLEAR}${line}\n`);
      draw(last);
    },
    end() {
      output.write(CLEAR);
    },
  };
}
