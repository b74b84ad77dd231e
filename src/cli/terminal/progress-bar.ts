import type { Output } from "./command-io.js";
import { printableLine } from "./printable.js";

/** Shows how far a long run is. */
export interface ProgressBar {
  /** One more is done; `name` is what it was. */
  readonly advance: (name?: string) => void;
  /** Takes the bar off the screen. */
  readonly end: () => void;
}

const WIDTH = 24;
/** Takes the line away: back to its start, and clear. */
const CLEAR = "\r\u001b[2K";

/**
 * A bar on standard error, where that is a terminal; nothing in a pipe and for a single step.
 */
export function createProgressBar(output: Output, total: number): ProgressBar {
  if (!output.isTTY || total < 2) return { advance: () => undefined, end: () => undefined };
  let done = 0;
  const draw = (name: string): void => {
    const filled = Math.round((WIDTH * done) / total);
    const bar = `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)}`;
    const text = `${bar} ${done}/${total} ${printableLine(name)}`;
    // A line that wraps would not be taken away whole.
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
    end() {
      output.write(CLEAR);
    },
  };
}
